"""The recipe: the parameters that a file is built with, checked once and never changed.

Gives a frozen `Recipe`, its canonical JSON and its id. Parameters must never be passed on as loose integers.
"""

import dataclasses
import json
import numbers
import operator
from collections.abc import Mapping
from typing import Any, Literal, Self, get_args, get_origin

import xxhash

from docindex.arguments import choice, shown
from docindex.errors import RecipeError


def _whole(value: object) -> int | None:
    """A whole number of any type as an int; None for a bool, and for anything else."""
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        return None
    return operator.index(value)


LIMITS = {
    "k": (1, 4096),
    "window": (1, 65_535),
    "shingle": (1, 4096),
    "slots": (1, 4096),
    "min_s": (0, 1 << 20),
    "mod_m": (0, 1 << 32),
    "level": (0, 1 << 18),
}

FORMER_DEFAULTS: Mapping[str, Any] = {}
"""The parameters that older files lack, and the values that those files were built with.

A parameter that is added to `Recipe` gets an entry here, which must never change afterwards.
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """How texts become fingerprints and sketches. Sketches whose recipes have the same id can be compared.

    - `k`, `window`, `selector`: symbols of a k-gram; neighbouring k-grams of which at least one is kept; how
      equal ones are treated ("robust" or "rightmost")
    - `token`, `shingle`, `bag`: what shingles consist of ("word", "letter" or "line"); how many tokens each
      has; whether repeats count
    - `slots`, `features`: the numbers of a min-hash sketch; the feature filter (k, s, r)
    - `stop_words`, `stemming`: what simhash leaves out and joins ("none" or "english")
    - `min_s`, `mod_m`, `level`: Broder's samples; 0 stores none
    - `reading`: the name of the rules that turn a text into symbols

    >>> Recipe(k=20, window=31).guarantee
    50
    >>> Recipe(k=0)
    Traceback (most recent call last):
    ValueError: k must be a whole number from 1 to 4096, not 0
    """

    k: int = 15
    """Symbols in a k-gram: no shorter match is ever reported.

    At the same guarantee, a smaller k finds more, and its file is smaller. In a search of PAN 2013, the
    sources among the first 50 documents, of texts that were reworded by a program (a), translated and back
    (b), or summarised by people (c); and documents of which nothing was taken (d). The default was chosen on
    one half. The file has no texts; its size is a share of theirs. The time is that of a search.

        k/window   t  file    a    b    c    d    other half: a b c d   time
           25/26  50  .957  .709 .719 .285 .017   .705 .635 .299 .010   1.00
           20/31  50  .837  .809 .784 .387 .037   .795 .727 .411 .030    .96
           16/35  50  .765  .874 .861 .494 .084   .884 .786 .515 .061   1.08
           15/36  50  .749  .884 .864 .491 .094   .878 .819 .503 .088   1.20
           14/37  50  .738  .907 .868 .521 .108   .898 .811 .543 .096   1.26
           12/39  50  .707  .909 .876 .518 .135   .911 .821 .590 .128   1.36
           15/26  40  .950  .925 .902 .573 .108   .921 .855 .572 .106   1.55
           15/46  60  .677  .839 .847 .417 .076   .833 .778 .462 .067   1.08

    All find the sources of verbatim copies, licences and manual pages equally well. Below 15, a k-gram is
    often a single word, such as "administration", and each symbol less adds half as many candidates. Where
    few texts share phrases, a search takes less time with 15/36 than with 25/26: .83 among Django's sources.
    """
    window: int = 36
    """At least one of any `window` consecutive k-grams is kept, so no match of k + window - 1 is missed.

    The default gives a guarantee of 50 symbols, about ten words; the table of `k` shows others.
    """
    selector: Literal["robust", "rightmost"] = "robust"
    """How winnowing treats equal hashes: "robust" keeps fewer; "rightmost" looks at each window alone."""
    token: Literal["word", "letter", "line"] = "word"
    """The unit that shingles consist of."""
    shingle: int = 5
    """Tokens in a shingle.

    The probability that a copy has a larger containment than a text of which nothing was taken, on one half
    and the other half of PAN 2013, and of short answers of students:

        words    verbatim      reworded    translated    summarised      students
            3   .977 .973     .884 .887     .881 .854     .815 .820     .966 .963
            4   .992 .995     .950 .954     .937 .929     .765 .776     .968 .966
            5   .998 .998     .945 .963     .924 .917     .657 .691     .971 .959
            6  1.000 .999     .931 .933     .885 .855     .616 .638     .945 .959

    4 words gain only where people summarised, and mistake more texts for verbatim copies than 5.
    """
    bag: bool = False
    """Whether repeated occurrences of a shingle count (Broder's option A) or not (option B).

    With True, a long text takes 64 bytes of memory for each shingle; with False, the memory is constant.
    """
    slots: int = 128
    """Min-hash values in a sketch."""
    features: tuple[int, int, int] = (6, 14, 2)
    """(k, s, r): k groups of s slots each. Two contents with r equal groups pass the filter."""
    stop_words: Literal["none", "english"] = "none"
    """The words that simhash leaves out."""
    stemming: Literal["none", "english"] = "none"
    """Whether simhash treats "copies" and "copy" as the same word."""
    min_s: int = 0
    """Size of Broder's MIN_s sample; 0 stores no such sample."""
    mod_m: int = 0
    """Modulus of Broder's MOD_m sample; 0 stores no such sample."""
    level: int = 0
    """Largest expected size of Broder's L_i sample, whose modulus grows with the text; 0: no such sample."""
    reading: Literal["text/2", "code-names/1", "code-raw/1"] = "text/2"
    """The name and version of the reading that turns a text into symbols.

    "text/2" reads letters and digits. The others read source code, and a symbol is a token: see `code`.
    """

    def __post_init__(self) -> None:
        for name, (least, most) in LIMITS.items():
            value = _whole(getattr(self, name))
            if value is None or not least <= value <= most:
                raise ValueError(
                    f"{name} must be a whole number from {least} to {most}, not {shown(getattr(self, name))}"
                )
            object.__setattr__(self, name, value)
        for field in dataclasses.fields(self):
            if get_origin(field.type) is Literal:
                value = choice(field.name, getattr(self, field.name), get_args(field.type))
                object.__setattr__(self, field.name, value)
        if not isinstance(self.bag, bool):
            raise ValueError(f"bag must be True or False, not {shown(self.bag)}")
        object.__setattr__(self, "features", self._checked_features())
        if self.reading != "text/2" and not self.stop_words == self.stemming == "none":
            raise ValueError("source code has no stop words and no stems; leave out stop_words and stemming")

    @classmethod
    def code(cls, form: Literal["names", "raw"] = "names", **parameters: Any) -> Self:
        """A recipe for source code: a symbol is a token, and comments and white space do not count.

        In the form "names", all names are alike, all numbers, and all strings: so copies are found whose
        names were changed. In the form "raw", tokens stay as they are: so programs that do the same thing in
        the same way are told apart. `parameters` are those of a recipe.

        The defaults were chosen on four collections of student programs. F1.5 of ConPlag by the larger
        containment, as it is and without template code; AUC of IR-Plag by resemblance, levels 2 and 3:

            names  shingle 4  .808 .848  .924 .827        raw  shingle 4  .751 .778  .740 .686
                           5  .812 .857  .931 .806                     5  .758 .785  .755 .693
                           6  .808 .851  .928 .794                     6  .758 .789  .773 .693
                           8  .797 .839  .934 .772                     8  .726 .797  .807 .697

        F1.5 of ConPlag, and AUC of two kinds of disguised copies of Progpedia19, by fingerprints; and the
        number of fingerprints for each character. Other hashes of the keywords change F1.5 by up to .02:

            names  k=5 window=4  .783 .850  .975 .963  .096    raw  k=5 window=4  .740 .773  1.00 .953  .095
                   k=6 window=4  .798 .871  .974 .973  .097         k=6 window=4  .738 .786  1.00 .942  .097
                   k=8 window=4  .782 .839  .988 .979  .095         k=8 window=4  .713 .790  1.00 .943  .096
                   k=8 window=8  .766 .805  .984 .974  .052         k=8 window=8  .708 .771  1.00 .934  .053
                  k=10 window=4  .775 .823  .983 .967  .093        k=10 window=4  .714 .761  1.00 .933  .095

        >>> Recipe.code(window=10).reading, Recipe.code("raw").guarantee
        ('code-names/1', 8)
        """
        form = choice("form", form, ("names", "raw"))
        chosen = {"reading": f"code-{form}/1", "k": 8 if form == "names" else 5, "window": 4, "shingle": 5}
        return cls(**(chosen | parameters))

    def _checked_features(self) -> tuple[int, int, int]:
        numbers = (
            [_whole(number) for number in self.features] if isinstance(self.features, (tuple, list)) else []
        )
        if len(numbers) != 3 or any(number is None or number < 1 for number in numbers):
            raise ValueError(
                f"features must be three whole numbers (k, s, r) above 0, not {shown(self.features)}"
            )
        k, s, r = (number or 0 for number in numbers)
        if r > k:
            raise ValueError(
                f"features require {r} equal groups, but there are only {k}; r must not exceed k"
            )
        if k * s > self.slots:
            raise ValueError(
                f"features of {k} groups of {s} need {k * s} slots, and the recipe has {self.slots}; "
                "use more slots, or fewer or smaller groups"
            )
        return k, s, r

    @property
    def guarantee(self) -> int:
        """Every common run of this many symbols is found: k + window - 1."""
        return self.k + self.window - 1

    @property
    def id(self) -> str:
        """Sixteen hexadecimal digits that identify the parameters.

        A parameter that has its former default does not change the id, so that an old file keeps its id.
        """
        named = dataclasses.asdict(self)
        told = {name: value for name, value in named.items() if FORMER_DEFAULTS.get(name, ...) != value}
        return xxhash.xxh3_64_hexdigest(_canonical(told).encode())

    def to_json(self) -> str:
        """The canonical JSON: every parameter, sorted, without spaces.

        >>> Recipe.from_json(Recipe(k=5).to_json()) == Recipe(k=5)
        True
        """
        return _canonical(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Self:
        """The recipe that `to_json` of this or an older version wrote.

        `RecipeError` if this version cannot use it.
        """
        try:
            stored: Any = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise RecipeError(f"the stored recipe is not JSON ({error}); the file is damaged") from error
        if not isinstance(stored, dict):
            raise RecipeError(f"the stored recipe is not a JSON object but a {type(stored).__name__}")
        names = {field.name for field in dataclasses.fields(cls)}
        stored = {**FORMER_DEFAULTS, **stored}
        if set(stored) != names:
            unknown = ", ".join(sorted(set(stored) - names)[:5]) or "nothing"
            missing = ", ".join(sorted(names - set(stored))) or "nothing"
            raise RecipeError(
                f"the stored recipe has other parameters than this version expects (unknown: {unknown}; "
                f"missing: {missing}); open the file with the docindex that made it, or a newer version"
            )
        try:
            return cls(**stored)
        except ValueError as error:
            raise RecipeError(f"this version cannot use the stored recipe: {error}") from error


def _canonical(parameters: dict[str, Any]) -> str:
    return json.dumps(parameters, sort_keys=True, separators=(",", ":"))
