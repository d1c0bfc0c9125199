"""The programming languages that a reading of code knows: their keywords, and how to tell them by a text.

In: the beginning of a text. Out: a `Language`. Must never need a file name, because a text in an index has
none. To add a language, add an entry to `LANGUAGES`; every change needs a new version of the readings.

Only reserved words are keywords. A word that a program may also use as a name, such as Java's "record", is a
name, so that renaming it changes nothing.
"""

import dataclasses
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from docindex.arrays.ranges import F64, I64

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
