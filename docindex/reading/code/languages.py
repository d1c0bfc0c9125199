"""Look up words of source code: whose keywords they are, and which language a text is in.

In: tokens. Out: languages and symbols as arrays. The tables are made once, from those of `code_languages`.
"""

import dataclasses
import functools
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from docindex.arrays.ranges import F64, I64, U8, U32, U64, Bool, starts_of, union
from docindex.reading.code.tokens import CodeTokens, plain_tokens, visible
from docindex.reading.slicing import is_line_end

# The programming languages that a reading of code knows: their keywords, and how to tell them by a text.
#
# In: the beginning of a text. Out: a `Language`. Must never need a file name, because a text in an index has
# none. To add a language, add an entry to `LANGUAGES`; every change needs a new version of the readings.
#
# Only reserved words are keywords. A word that a program may also use as a name, such as Java's "record", is
# a name, so that renaming it changes nothing.

F32: TypeAlias = NDArray[np.float32]


@dataclasses.dataclass(frozen=True, slots=True)
class Language:
    """A programming language, as far as a reading of code knows it."""

    name: str
    syntax: str
    """The name of its comments and strings in `code_syntax`."""
    keywords: frozenset[str]
    marks: frozenset[str]
    """Other words and signs that show that a text is in this language."""
    line_ends: str = ""
    """The signs with which many of its lines end."""
    variable_sign: str = ""
    """The sign with which its variables begin."""
    folds_case: bool = False
    """Whether "SELECT" and "select" are the same word."""


def _language(
    name: str, syntax: str, keywords: str, marks: str, line_ends: str = "", **more: Any
) -> Language:
    return Language(name, syntax, frozenset(keywords.split()), frozenset(marks.split()), line_ends, **more)


LANGUAGES = (
    _language(
        "",
        "words",
        "",
        "",
    ),
    _language(
        "C",
        "braces",
        """abstract assert auto bool boolean break byte case catch char class const constexpr const_cast
        continue decltype default define delete do double dynamic_cast else endif enum explicit
        export extends extern false final finally float for foreach friend goto if ifdef ifndef implements
        implicit import include inline int interface internal long mutable namespace native new noexcept
        null nullptr operator override package pragma private protected public readonly register
        reinterpret_cast restrict return sealed short signed sizeof static static_cast strictfp struct
        super switch synchronized template this throw throws transient true try typedef typeid typename
        uint ulong undef union unsafe unsigned using ushort virtual void volatile while""",
        """String System println Override ArrayList List Integer HashMap Scanner IOException instanceof
        printf scanf NULL malloc size_t stdio stdlib argc argv std cout cin endl vector iostream
        Console WriteLine Linq IEnumerable void char int static public namespace struct unsigned typedef
        define ifdef endif using final ; { :: ->""",
        ";{",
    ),
    _language(
        "JavaScript",
        "script",
        """abstract any as async await boolean break case catch class const continue debugger declare default
        delete do else enum export extends false finally for from function if implements import in
        instanceof interface keyof let never new null of private protected public readonly return static
        super switch this throw true try typeof undefined unknown var void while with yield""",
        """console document window require prototype undefined JSON Promise addEventListener querySelector
        function var const exports export typeof boolean any number declare constructor Object async
        === !== ; { =>""",
        ";{",
    ),
    _language(
        "Python",
        "python",
        """False None True and as assert async await break class continue def del elif else except finally
        for from global if import in is lambda nonlocal not or pass raise return try while with yield""",
        """self elif cls __init__ __name__ isinstance append kwargs ValueError numpy str dict def import None
        True False raise except lambda len""",
        ":",
    ),
    _language(
        "Go",
        "go",
        """break case chan const continue default defer else fallthrough for func go goto if import interface
        map package range return select struct switch type var nil true false""",
        """fmt nil err Println := { func chan defer range error byte Sprintf Errorf append make""",
        "{",
    ),
    _language(
        "Rust",
        "rust",
        """as async await break const continue crate dyn else enum extern false fn for if impl in let loop
        match mod move mut pub ref return self Self static struct super trait true type unsafe use where
        while""",
        """Some None Ok Err Vec usize i32 u8 u64 unwrap derive fn mut impl pub crate Result Option str let mod
        Self Box match ; { :: -> =>""",
        ";{",
    ),
    _language(
        "Kotlin",
        "nested",
        """as break class continue do else false for fun if in interface is null object package return super
        this throw true try typealias typeof val var when while override private public protected internal
        data sealed companion import""",
        """fun val when listOf companion Int println override kotlin Boolean ?: internal it
        init { -> ?. ..""",
        "{",
    ),
    _language(
        "Swift",
        "nested",
        """as associatedtype break case catch class continue default defer deinit do else enum extension
        fallthrough false fileprivate for func guard if import in init inout internal is let nil open
        operator private protocol public repeat rethrows return self Self static struct subscript super
        switch throw throws true try typealias var where while""",
        """guard Foundation UIKit nil Int func let self Bool extension init Any { -> ??""",
        "{",
    ),
    _language(
        "PHP",
        "php",
        """abstract and array as break callable case catch class clone const continue declare default do echo
        else elseif empty endforeach endif endwhile extends final finally fn for foreach function global
        goto if implements include include_once instanceof insteadof interface isset list match namespace
        new null or print private protected public readonly require require_once return static switch
        throw trait try unset use var while xor yield true false""",
        """php $this $i isset foreach elseif echo $_POST $_GET $name $value $key array function __construct
        strict_types namespace ; { -> => === ::""",
        ";{",
        variable_sign="$",
    ),
    _language(
        "Ruby",
        "ruby",
        """alias and begin break case class def defined do else elsif end ensure false for if in module next
        nil not or redo rescue retry return self super then true undef unless until when while yield""",
        """puts elsif attr_accessor attr_reader nil each unless rescue def end initialize to_s assert_equal do
        require => ::""",
    ),
    _language(
        "Perl",
        "perl",
        """and cmp continue do else elsif eq for foreach ge gt if last le local lt my ne next no not or our
        package redo require return sub unless until use while xor""",
        """my sub $_ $self elsif shift die qw bless strict warnings our @ =~ use ; { -> => ::""",
        ";{",
        variable_sign="$",
    ),
    _language(
        "shell",
        "shell",
        """case do done elif else esac fi for function if in select then until while local return exit export
        readonly declare shift""",
        """fi esac done then echo elif $1 $2 grep sed sh bash cat mkdir rm EOF cd eval cut test""",
        variable_sign="$",
    ),
    _language(
        "SQL",
        "sql",
        """add all alter and any as asc begin between by case check column constraint create cross database
        default delete desc distinct drop else end except exists false foreign from full function group
        having if in index inner insert intersect into is join key left like limit not null offset on or
        order outer primary procedure references returning right select set table then top trigger true
        truncate union unique update using values view when where with""",
        """WHERE FROM INTO VALUES TABLE VARCHAR PRIMARY JOIN GROUP ORDER AND SELECT INSERT UPDATE CREATE
        FUNCTION AS RETURNS LANGUAGE ALTER SET DROP NOT ON IN TYPE DEFAULT IS INTEGER TEXT BEGIN END
        select insert varchar inner where VARCHAR2 varchar2 distinct ;""",
        ";",
        folds_case=True,
    ),
    _language(
        "R",
        "r",
        """if else repeat while function for in next break TRUE FALSE NULL Inf NaN NA NA_integer_ NA_real_
        NA_character_ return library""",
        """TRUE FALSE NULL NA library frame paste paste0 ggplot lapply sapply nrow function names c <-""",
    ),
    _language(
        "Lua",
        "lua",
        """and break do else elseif end false for function goto if in local nil not or repeat return then
        true until while""",
        """local elseif nil pairs ipairs require setmetatable end function then .. ~= tostring""",
    ),
    _language(
        "Haskell",
        "haskell",
        """case class data default deriving do else forall foreign if import in infix infixl infixr instance
        let module newtype of then type where qualified""",
        """deriving instance Maybe Just Nothing IO qualified LANGUAGE putStrLn where module let Text Map
        String :: -> => <-""",
    ),
    _language(
        "Scala",
        "nested",
        """abstract case catch class def do else extends false final finally for forSome if implicit import
        lazy match new null object override package private protected return sealed super this throw trait
        true try type val var while with yield given then""",
        """val println Option Some implicit extends trait def object Int Unit Boolean Array override Any
        AnyRef scala =>""",
        "{",
    ),
    _language(
        "CSS",
        "css",
        "",
        """px em rgba webkit moz serif important margin padding background hover media inline font color
        weight style bold border italic align solid display bottom width height top family auto
        vertical overflow center position decoration visited""",
        ";{",
    ),
)
"""The languages; "C" stands for C, C++, Java and C#, and "JavaScript" for TypeScript, too: to tell them apart
by a few lines is a guess. The first one is that of texts in no language: all words are kept as they are."""

SAMPLE = 1 << 14
"""The language is told by this many characters at the beginning of a text."""

LINE_ENDS = ";:{"
POINTS_OF_A_LINE, COUNTED_LINES = 0.3, 5
"""What a line that ends with the sign of a language is worth, and how many of them count.

A variable that begins with the sign of a language is worth the same.
"""

LEAST_SIGNS = 0.12
"""A text is prose if a smaller share of its tokens are brackets and the like, or dots inside words.

Shares of 700 licences, 73 books and 500 texts of Django's documentation (half of which show much code) that
are taken for code; and mean containment of 5 lines of programs in 16 languages in their program:

           signs of  .08 without dots  .003 .000 .36  .847        .08  .007 .000 .64  .864
                     .06 without dots  .024 .000 .57  .855        .10  .003 .000 .49  .866
                                                                  .12  .003 .000 .32  .861
"""

_ENGLISH = frozenset(
    """Exception add all and any args array as at base begin body by case check count data default defined
    do else end error exit for from full given group head if import in include index into is it key last
    left length like limit list local main make map match module my new next no not number object of on
    open or order our out package pass print range ref require right set some string table test text
    that then this time top type until us use util values view when where while with""".split()  # noqa: SIM905 - a list of quoted words is hard to read
)
"""Keywords that are frequent in comments and strings, and so say nothing, unless they are marks."""


def points_of_words() -> dict[str, dict[int, float]]:
    """The points that a word gives to each language that has it: the fewer languages, the more.

    >>> [LANGUAGES[number].name for number in points_of_words()["esac"]]
    ['shell']
    """
    having: dict[str, dict[int, float]] = {}
    for number, language in enumerate(LANGUAGES):
        keywords = frozenset[str]() if language.folds_case else language.keywords
        for word in (keywords - _ENGLISH) | language.marks:
            having.setdefault(word, {})[number] = 1.0 + (word in language.marks and word.isalnum())
    return {
        word: {number: points / len(found) for number, points in found.items()}
        for word, found in having.items()
    }


def best_languages(points: F32, shares_of_signs: F64) -> I64:
    """The number of the language of each text: the one with most points, if they are enough.

    `points` has a row for each text and a column for each language.

    >>> best_languages(np.array([[0, 2.0, 1], [0, 2.0, 1]]), np.array([0.3, 0.01])).tolist()
    [1, 0]
    """
    return np.where(shares_of_signs >= LEAST_SIGNS, points.argmax(1), 0)


# Find what is likely to be a comment in source code whose language is not known yet.
#
# In: the code points of texts. Out: ranges of them. The words of comments must not say which language a
# program is in. A range that is no comment does no harm: a few words less are counted.

_HASH, _SLASH, _STAR, _DASH, _QUOTE, _SPACE = map(ord, '#/*-" ')


def likely_comments(codes: U8 | U64, text_starts: I64, breaks: I64) -> I64:
    r"""Where likely comments begin and end, one row for each. They may overlap. `breaks` are the line ends.

    >>> source = np.frombuffer(b"x # y\nz /* 1 */", np.uint8)
    >>> likely_comments(source, np.array([0, 15]), np.array([5])).tolist()
    [[2, 5], [8, 13]]
    """
    padded = np.concatenate([codes, np.full(2, _SPACE, codes.dtype)])
    # To look for all the signs at once, and then at the few places, takes half the time.
    wanted = codes == _HASH
    for sign in (_SLASH, _STAR, _DASH, _QUOTE):
        wanted |= codes == sign
    at = wanted.nonzero()[0]
    before, first, following, second = (padded.take(at + step) for step in (-1, 0, 1, 2))
    slashed = (first == _SLASH) & (following == _SLASH)
    dashed = (first == _DASH) & (following == _DASH) & (second <= _SPACE)
    lines = at[slashed | dashed | (first == _HASH) & (following <= _SPACE)]
    # "//*" is a comment of one line.
    blocks = at[(first == _SLASH) & (following == _STAR) & (before != _SLASH)]
    ends = at[(first == _STAR) & (following == _SLASH)]
    quotes = at[(first == _QUOTE) & (following == _QUOTE) & (second == _QUOTE)]
    return np.concatenate(
        [
            _up_to(lines, breaks, text_starts),
            _up_to(blocks, ends, text_starts),
            _triple_quoted(quotes, text_starts),
        ]
    )


def _up_to(begins: I64, ends: I64, text_starts: I64) -> I64:
    """Ranges from each begin up to the next end, or to the end of the text."""
    of_text = text_starts[np.searchsorted(text_starts, begins, "right")]
    following = np.append(ends, text_starts[-1])[np.searchsorted(ends, begins)]
    return np.stack([begins, np.minimum(following, of_text)], axis=1)


def _triple_quoted(quotes: I64, text_starts: I64) -> I64:
    """The ranges between the first and the second triple quote of a text, the third and the fourth, ..."""
    quotes = quotes[np.diff(quotes, prepend=-3) > 2]
    texts = np.searchsorted(text_starts, quotes, "right") - 1
    is_first = (np.arange(len(quotes)) - np.searchsorted(texts, texts)) % 2 == 0
    return _up_to(quotes[is_first], quotes[~is_first], text_starts)


_ARE_OF_CODE = np.zeros(256, bool)
_ARE_OF_CODE[list(b"(){}[]<>=;$|&")] = True
_ARE_OF_CODE[:0x20] = True
"""The signs that are rare in prose."""

_LINE_END_OF_CLASS = np.full(256, len(LINE_ENDS), np.uint8)
_LINE_END_OF_CLASS[list(LINE_ENDS.encode())] = range(len(LINE_ENDS))

_HAVE_LINE_END = np.array(
    [[end in language.line_ends for language in LANGUAGES] for end in LINE_ENDS], np.float32
)

_DOLLAR, _DOT = map(ord, "$.")
_POINTS_OF_A_VARIABLE = np.float32(POINTS_OF_A_LINE) * np.array(
    [language.variable_sign == "$" for language in LANGUAGES], np.float32
)

_HIGH = np.uint64(57)
_KEYS = np.uint64((1 << 18) - 1)

I16: TypeAlias = NDArray[np.int16]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Vocabulary:
    """The words that mean something in a language."""

    hashes: U64
    shift: np.uint64
    """The key of a hash is 18 bits of it, from this one on. No two words have the same key."""
    numbers: I16
    """For each key, the number of the word that has it, or 0."""
    symbols: U8
    """The symbol of each word as a keyword."""
    languages: U32
    """For each word, the languages that have it as a keyword: bit n stands for language n."""
    points: F32
    """For each word, the points that it gives to each language."""

    def find(self, hashes: U64) -> tuple[I64, I64]:
        """Which of some hashes are those of words, and the numbers of these words."""
        numbers = self.numbers.take((hashes >> self.shift) & _KEYS)
        found = (self.hashes.take(numbers) == hashes).nonzero()[0]
        return found, numbers.take(found)


def hashed_symbols(hashes: U64) -> U8:
    """A symbol from 0x80 to 0xFF for each hash of a token."""
    return (hashes >> _HIGH).astype(np.uint8) | np.uint8(0x80)


@functools.cache
def vocabulary() -> Vocabulary:
    """The words of all languages."""
    points = points_of_words()
    words = sorted(points.keys() | {word for language in LANGUAGES for word in language.keywords})
    hashes = plain_tokens(visible(" ".join(words)), np.zeros(2, np.int64)).hashes
    languages = [
        sum(1 << number for number, language in enumerate(LANGUAGES) if word in language.keywords)
        for word in words
    ]
    table = np.zeros((len(words), len(LANGUAGES)), np.float32)
    for row, word in enumerate(words):
        for number, some in points.get(word, {}).items():
            table[row, number] = some
    shift = next(
        shift for shift in map(np.uint64, range(46)) if len(union((hashes >> shift) & _KEYS)) == len(words)
    )
    numbers = np.zeros(int(_KEYS) + 1, np.int16)
    numbers[(hashes >> shift) & _KEYS] = np.arange(len(words))
    symbols = _different_symbols(hashed_symbols(hashes).tolist(), languages)
    return Vocabulary(hashes, shift, numbers, symbols, np.array(languages, np.uint32), table)


def _different_symbols(wanted: list[int], languages: list[int]) -> U8:
    """A symbol for each keyword, such that no two keywords of one language share a symbol."""
    taken = [0] * 0x80
    found = []
    for symbol, own in zip(wanted, languages, strict=True):
        while taken[symbol & 0x7F] & own:
            symbol += 1
        taken[symbol & 0x7F] |= own
        found.append(symbol & 0x7F | 0x80)
    return np.array(found, np.uint8)


def languages_of(codes: U8 | U64, tokens: CodeTokens, text_starts: I64) -> I64:
    """The number of the language of each text, by the different words at its beginning and its line ends.

    `text_starts` says where each text begins among the characters.
    """
    words = vocabulary()
    begins = tokens.starts[:-1]
    ends = np.searchsorted(tokens.ends, np.minimum(text_starts[:-1] + SAMPLE, text_starts[1:]))
    breaks = is_line_end(codes).nonzero()[0]
    counts = ~_inside(tokens.begins, likely_comments(codes, text_starts, breaks))
    where, numbers = words.find(tokens.hashes)
    owners = np.searchsorted(begins, where, "right") - 1
    early = (where < ends[owners]) & counts[where]
    having = np.zeros((len(begins), len(words.hashes)), np.float32)
    having[owners[early], numbers[early]] = 1
    points = having @ words.points
    of_code = _ARE_OF_CODE.take(tokens.classes)
    dots = (tokens.classes[:-1] == _DOT).nonzero()[0]
    of_code[dots] = tokens.begins[dots + 1] == tokens.ends[dots]
    signs = starts_of((of_code & counts).astype(np.int64))
    sizes = starts_of(counts.astype(np.int64))
    shares = (signs[ends] - signs[begins]) / np.maximum(sizes[ends] - sizes[begins], 1)
    ending = _lines_ending_in_signs(tokens, counts.nonzero()[0], breaks, text_starts)
    points += ending @ _HAVE_LINE_END * np.float32(POINTS_OF_A_LINE)
    dollars = (codes == _DOLLAR).nonzero()[0]
    variables = np.searchsorted(tokens.begins, dollars)
    # A dollar sign inside a word begins no variable. One at the very end may have no token after it.
    begun = variables < len(tokens.begins)
    variables, dollars = variables[begun], dollars[begun]
    begun = (tokens.begins[variables] == dollars) & (tokens.ends[variables] > dollars + 1)
    variables = variables[begun & counts[variables]]
    found = np.diff(np.searchsorted(variables, np.stack([begins, ends])), axis=0)[0]
    points += np.minimum(found, COUNTED_LINES)[:, None] * _POINTS_OF_A_VARIABLE
    return best_languages(points, shares)


def _inside(places: I64, spans: I64) -> Bool:
    """Whether each of the ascending places lies in one of the spans."""
    opened, closed = (
        np.bincount(np.searchsorted(places, edges), minlength=len(places) + 1) for edges in spans.T
    )
    inside: Bool = np.cumsum(opened[:-1] - closed[:-1]) > 0
    return inside


def _lines_ending_in_signs(tokens: CodeTokens, counted: I64, breaks: I64, text_starts: I64) -> F32:
    """For each text and each of `LINE_ENDS`, how many lines end so; at most `COUNTED_LINES`.

    Only some tokens are counted: a comment at the end of a line does not matter.
    """
    signs = _LINE_END_OF_CLASS.take(tokens.classes.take(counted))
    at = (signs < len(LINE_ENDS)).nonzero()[0]
    begins, signs = tokens.begins.take(counted.take(at)), signs.take(at).astype(np.int64)
    following = tokens.begins.take(counted.take(at + 1, mode="clip"))
    following[at == len(counted) - 1] = text_starts[-1]
    ends = np.append(breaks, text_starts[-1])[np.searchsorted(breaks, begins)]
    owners = np.searchsorted(text_starts, begins, "right") - 1
    last = (ends <= following) & (ends - text_starts[owners] < SAMPLE)
    texts = len(text_starts) - 1
    found = np.bincount(owners[last] * len(LINE_ENDS) + signs[last], minlength=texts * len(LINE_ENDS))
    return np.minimum(found, COUNTED_LINES).reshape(texts, len(LINE_ENDS)).astype(np.float32)
