"""Extract the spoken text of subtitles (.srt, .vtt), without numbers, times and marks.

A place is the time when a text appears, as a player shows it: "00:01:02".
"""

import re

from docindex.frontends.encodings.decoded_source import decode_source
from docindex.frontends.extracted import Extracted, TextBuilder
from docindex.frontends.front_end import ExtractionOptions, FrontEnd
from docindex.frontends.line_places import add_lines
from docindex.frontends.markup.tokens import unescaped

_TIMES = re.compile(
    r"^[ \t]*+(?:(?P<hours>\d{1,4}):)?(?P<rest>\d{1,2}:\d{2})[.,]\d{1,3}[ \t]*+-->[^\n]*+\n?", re.MULTILINE
)
_MARKS = re.compile(
    r"</?(?:[biucsv]|br|font|lang|rt|ruby)(?=[\s./>])[^<>]*+>|<[\d:.]++>|\{\\[^{}]*+\}", re.IGNORECASE
)
"""The tags that players know. Anything else, such as <ada@example.org>, they show."""
_NO_SPEECH = ("WEBVTT", "NOTE", "STYLE", "REGION")
"""The blocks of a .vtt file that are not spoken begin with one of these words."""


def extract(data: bytes, options: ExtractionOptions) -> Extracted:
    """The spoken text of subtitles."""
    source = decode_source(data, forced=options.encoding)
    is_vtt = source.startswith("WEBVTT")
    builder = TextBuilder()
    times = list(_TIMES.finditer(source))
    ends = [time.start() for time in times[1:]] + [len(source)]
    last = ""
    for time, end in zip(times, ends, strict=False):
        builder.begin(f"{(time['hours'] or '0').zfill(2)}:{time['rest'].zfill(5)}")
        for line in _spoken(source[time.end() : end], is_vtt=is_vtt, is_last=end == len(source)):
            if not is_vtt or line != last:  # automatic .vtt files repeat a line while the next one appears
                builder.add(line).end_line()
            last = line
    if not times:
        add_lines(source, builder.warn("It has no times; its text is given as it is."))
    return builder.extracted()


def _spoken(text: str, *, is_vtt: bool, is_last: bool) -> list[str]:
    """The lines between two lines of times, without the number or the name of the second one."""
    blocks = re.split(r"\n[ \t]*+(?=\n)", text)
    if not is_last:
        lines = blocks[-1].rstrip("\n").split("\n")
        is_name = lines[-1].strip().isdigit() or (is_vtt and len(blocks) > 1 and len(lines) == 2)
        if is_name and not text.endswith("\n\n"):
            blocks[-1] = "\n".join(lines[:-1])
    if is_vtt:
        blocks = [block for block in blocks if not block.lstrip().startswith(_NO_SPEECH)]
        text = unescaped(_MARKS.sub("", "\n".join(blocks)))
    else:
        text = _MARKS.sub("", "\n".join(blocks))
    return [line for line in map(str.strip, text.split("\n")) if line]


_FIRST_TIME = re.compile(
    rb"[\s\xef\xbb\xbf]*+(?:WEBVTT\b|[01]\s*?\n[0-9]{1,2}:[0-9]{2}:[0-9]{2}[,.][0-9]+ -->)"
)


def _has_times(data: bytes) -> bool:
    return _FIRST_TIME.match(data[:512]) is not None


FRONT_END = FrontEnd(
    "subtitles",
    1,
    extract,
    (b"webvtt", b"1\n", b"1\r\n", b"0\n", b"0\r\n"),
    _has_times,
    frozenset({".srt", ".vtt"}),
    frozenset({"text/vtt", "application/x-subrip"}),
    is_text=True,
    most_bytes=50_000_000,
)
