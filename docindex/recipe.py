"""The parameters a file is built with, checked once and never changed.

In: the caller's wishes. Out: a frozen `Recipe`, its canonical JSON and its id.
Must never be passed on as loose integers.
"""

import dataclasses
import json
import operator
from typing import Any, Literal, Self, get_args, get_origin

import xxhash

from docindex.errors import RecipeError


def _whole(value: object) -> int | None:
    """A whole number of whatever type as an int; None for what is none, a bool too."""
    try:
        return None if isinstance(value, bool) else operator.index(value)  # type: ignore[arg-type] # it says so
    except TypeError:
        return None


LIMITS = {
    "k": (1, 4096),
    "window": (1, 65_535),
    "shingle": (1, 4096),
    "slots": (1, 4096),
    "min_s": (0, 1 << 20),
    "mod_m": (0, 1 << 32),
    "level": (0, 1 << 18),
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How texts become fingerprints and sketches. Two of them can be compared when their ids agree.

    >>> Recipe(k=20, window=31).guarantee
    50
    >>> Recipe(k=0)
    Traceback (most recent call last):
    ValueError: k must be a whole number from 1 to 4096, not 0
    """

    k: int = 25
    """Symbols in a k-gram: no shorter match is ever reported."""
    window: int = 26
    """Consecutive k-grams of which at least one is kept: a match of k + window - 1 is never missed."""
    selector: Literal["robust", "rightmost"] = "robust"
    """What winnowing does with equal hashes: "robust" keeps fewer of a run, "rightmost" is purely local."""
    token: Literal["word", "letter", "line"] = "word"
    """What a shingle is made of."""
    shingle: int = 5
    """Tokens in a shingle."""
    bag: bool = False
    """Whether a shingle's second, third ... occurrence counts (Broder's option A) or not (option B).

    A bag of a long text takes 64 bytes of memory for each shingle; a set takes the same for any length.
    """
    slots: int = 128
    """Min-hash values in a sketch."""
    features: tuple[int, int, int] = (6, 14, 2)
    """(k, s, r): k groups of s slots each; two contents with r equal groups pass the filter."""
    stop_words: Literal["none", "english"] = "none"
    """Words that simhash leaves out."""
    stemming: Literal["none", "english"] = "none"
    """Whether simhash takes "copies" and "copy" for one word."""
    min_s: int = 0
    """Size of Broder's MIN_s sketch; 0 for none."""
    mod_m: int = 0
    """Modulus of Broder's MOD_m sketch; 0 for none."""
    level: int = 0
    """Greatest expected size of Broder's L_i sketch, whose modulus doubles with the document; 0 for none."""
    reading: Literal["text/1"] = "text/1"
    """The front end that turns a source into symbols, and its version."""

    def __post_init__(self) -> None:
        for name, (least, most) in LIMITS.items():
            value = _whole(getattr(self, name))
            if value is None or not least <= value <= most:
                raise ValueError(
                    f"{name} must be a whole number from {least} to {most}, not {getattr(self, name)!r}"
                )
            object.__setattr__(self, name, value)
        for field in dataclasses.fields(self):
            choices, value = get_args(field.type), getattr(self, field.name)
            if get_origin(field.type) is Literal and not (isinstance(value, str) and value in choices):
                raise ValueError(f"{field.name} must be one of {', '.join(choices)}, not {value!r}")
        if not isinstance(self.bag, bool):
            raise ValueError(f"bag must be True or False, not {self.bag!r}")
        object.__setattr__(self, "features", self._checked_features())

    def _checked_features(self) -> tuple[int, int, int]:
        numbers = (
            [_whole(number) for number in self.features] if isinstance(self.features, (tuple, list)) else []
        )
        if len(numbers) != 3 or any(number is None or number < 1 for number in numbers):
            raise ValueError(f"features must be three whole numbers (k, s, r) above 0, not {self.features!r}")
        k, s, r = (number or 0 for number in numbers)
        if r > k:
            raise ValueError(f"features ask for {r} equal groups of only {k}; r must not exceed k")
        if k * s > self.slots:
            raise ValueError(
                f"features of {k} groups of {s} need {k * s} slots, and the recipe has {self.slots}; "
                "raise slots or take fewer or smaller groups"
            )
        return k, s, r

    @property
    def guarantee(self) -> int:
        """Every common run of this many symbols is found: k + window - 1."""
        return self.k + self.window - 1

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits that stand for all parameters."""
        return xxhash.xxh3_64_hexdigest(self.to_json().encode())

    def to_json(self) -> str:
        """The one way to write this recipe down: every parameter, sorted, without spaces.

        >>> Recipe.from_json(Recipe(k=5).to_json()) == Recipe(k=5)
        True
        """
        return json.dumps(dataclasses.asdict(self), sort_keys=True, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The recipe that `to_json` wrote; `RecipeError` when it is not one this version can follow."""
        try:
            stored: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise RecipeError(f"the stored recipe is not JSON ({error}); the file is damaged") from error
        if not isinstance(stored, dict):
            raise RecipeError(f"the stored recipe is not a JSON object but a {type(stored).__name__}")
        names = {field.name for field in dataclasses.fields(cls)}
        if set(stored) != names:
            unknown = ", ".join(sorted(set(stored) - names)[:5]) or "nothing"
            missing = ", ".join(sorted(names - set(stored))) or "nothing"
            raise RecipeError(
                f"the stored recipe has {unknown} that this version does not know, and lacks {missing}; "
                "open the file with the docindex that made it, or a newer one"
            )
        try:
            return cls(**stored)
        except ValueError as error:
            raise RecipeError(f"the stored recipe cannot be followed: {error}") from error
