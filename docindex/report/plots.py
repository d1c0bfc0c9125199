"""Draw bar charts and curves as SVG.

Takes numbers and labels, and returns SVG as text. The SVG has no scripts, and takes its colours from the
page's style sheet. Must never depend on the meaning of the numbers.
"""

import math
import textwrap
from collections.abc import Sequence
from html import escape

_LETTER_WIDTH = 6.5
"""The width of a letter of a label, in the units of the plot."""

_SHORTEST_LINE = 4
"""The minimum number of letters in a line of a label, even if the bar above it is narrower."""

_MOST_LINES = 2
"""Lines of a label for which there is room."""

_MOST_LABELLED = 8
"""If there are more bars, their values do not fit above them, and an axis shows the range instead."""

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _BOTTOM, _TOP = 420, 220, 48, 24, 40, 14


def bars(labels: Sequence[str], values: Sequence[float], shown: Sequence[str], title: str) -> str:
    """A bar for each value, with its label below and the value as `shown` writes it above.

    A label that would overlap the label before it is left out; the bar shows it when pointed at.

    >>> bars(["a"], [2.0], ["two"], "one bar").count("<rect")
    1
    """
    most = max(values, default=0) or 1
    step = (_WIDTH - _LEFT) / max(1, len(values))
    parts = [_horizontal_line(_HEIGHT - _BOTTOM)]
    free = 0.0  # labels may begin here
    if len(values) > _MOST_LABELLED:
        parts.append(_horizontal_line(_TOP))
        highest = max(range(len(values)), key=values.__getitem__)
        parts.append(_text(_LEFT - 4, _TOP + 4, shown[highest], "end"))
        parts.append(_text(_LEFT - 4, _HEIGHT - _BOTTOM + 4, "0", "end"))
    for number, (label, value, text) in enumerate(zip(labels, values, shown, strict=True)):
        height = (_HEIGHT - _BOTTOM - _TOP) * value / most
        x, y = _LEFT + number * step, _HEIGHT - _BOTTOM - height
        middle = x + step / 2
        parts.append(
            f'<rect class="bar" x="{x + step * 0.1:.1f}" y="{y:.1f}" width="{step * 0.8:.1f}" '
            f'height="{height:.1f}"><title>{escape(label)}: {escape(text)}</title></rect>'
        )
        lines = _lines(label, int(step / _LETTER_WIDTH))
        half = max(map(len, lines), default=0) * _LETTER_WIDTH / 2
        if middle - half >= free:
            free = middle + half + _LETTER_WIDTH / 2
            parts += [
                _text(middle, _HEIGHT - _BOTTOM + 14 + 11 * row, line) for row, line in enumerate(lines)
            ]
        if text and len(values) <= _MOST_LABELLED:
            parts.append(_text(middle, y - 3, text))
    return _svg(parts, title)


def curve(points: Sequence[tuple[float, float]], title: str, x_name: str, y_name: str) -> str:
    """A line through some points, on two logarithmic axes. All coordinates must be above 0.

    >>> curve([(1, 100), (10, 10), (100, 1)], "down", "rank", "count").count("<polyline")
    1
    """
    logs = [(math.log10(x), math.log10(y)) for x, y in points]
    right = math.ceil(max((x for x, _ in logs), default=0)) or 1
    top = math.ceil(max((y for _, y in logs), default=0)) or 1

    def at(x: float, y: float) -> tuple[float, float]:
        return (
            _LEFT + (_WIDTH - _LEFT - _RIGHT) * x / right,
            _HEIGHT - _BOTTOM - (_HEIGHT - _BOTTOM - _TOP) * y / top,
        )

    parts = []
    for power in range(right + 1):
        x, y = at(power, 0)
        parts.append(f'<line class="axis" x1="{x:.1f}" y1="{_TOP}" x2="{x:.1f}" y2="{y:.1f}"/>')
        parts.append(_text(x, y + 14, f"{10**power:,}", "middle" if power < right else "end"))
    for power in range(top + 1):
        x, y = at(0, power)
        parts.append(f'<line class="axis" x1="{x:.1f}" y1="{y:.1f}" x2="{_WIDTH - _RIGHT}" y2="{y:.1f}"/>')
        parts.append(_text(x - 4, y + 4, f"{10**power:,}", "end"))
    line = " ".join("{:.1f},{:.1f}".format(*at(x, y)) for x, y in logs)
    parts.append(f'<polyline class="curve" points="{line}"/>')
    parts.append(_text(_WIDTH / 2, _HEIGHT - 4, x_name))
    parts.append(_text(_LEFT + 4, _TOP + 14, y_name, "start"))
    return _svg(parts, title)


def _lines(label: str, letters: int) -> list[str]:
    """A label in at most `_MOST_LINES` lines, which have `letters` letters if that is enough for a word."""
    lines = textwrap.wrap(label, max(_SHORTEST_LINE, letters))
    if len(lines) > _MOST_LINES:
        lines = [*lines[: _MOST_LINES - 1], f"{lines[_MOST_LINES - 1][: max(_SHORTEST_LINE, letters) - 1]}…"]
    return lines


def _horizontal_line(y: float) -> str:
    return f'<line class="axis" x1="{_LEFT}" y1="{y}" x2="{_WIDTH}" y2="{y}"/>'


def _text(x: float, y: float, text: str, anchor: str = "middle") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>'


def _svg(parts: Sequence[str], title: str) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="{escape(title, quote=True)}">'
        f"{''.join(parts)}</svg>"
    )
