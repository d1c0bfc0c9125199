"""Comments and strings of each syntax are found as its language defines them, and odd signs hide no code."""

import time

import pytest

from docindex.reading.code.syntax import comments_and_strings

SYNTAXES = [
    "braces",
    "nested",
    "script",
    "go",
    "rust",
    "php",
    "css",
    "python",
    "ruby",
    "perl",
    "shell",
    "r",
    "sql",
    "lua",
    "haskell",
]

# In each source, the comments and strings are those between the marks « and ».
SOURCES = [
    ("braces", "int x = 1'000'000; char c = «'a'»; f(); «// it's»"),
    ("braces", "#error don't do this\nint y = «'\\''»;"),
    ("braces", 's = u8«R"x(a )" b)x"»; t = L«R"(q)"»; w = XR«"(q)"»;'),
    ("braces", 'var u = «@"c:\\"»; var v = $«@"a ""b"" \\"»; int z;'),
    ("braces", 'char *s = «"a\\\r\nb"»; f();'),
    ("braces", "int a; «// one»\rint b; «/* two */» int c; «/* not closed"),
    ("braces", "f(«'a'», 'b);\ng(«\"c\"»); h(\"d);\n«// e»"),
    ("nested", "f(); «/* a /* b /* c */ */ */» g(); «// it's»"),
    ("nested", 'val s = «"""it\'s "x" """»; val don\'t = 1'),
    ("script", 'a.replace(«/["\'/]/g», «"q"»); b = 1; «// c»'),
    ("script", "if («/https?:\\/\\//».test(u)) { b = 2; } x = a / b; y = c / d;"),
    ("script", "s.split(«/`/»); v = «`t\n//`»; return «/'/»;"),
    ("script", "<p>don't {x}</p>;\nlet y = `not closed {\n  z = 3;"),
    ("go", "s := «`raw \\`»; t := «'\\''»; v := 1 «// ok»"),
    ("rust", "let q = «'\\''»; let l: &'static str = «\"x\ny\"»; fn z<'a, 'b>() {}"),
    ("rust", 'let r = «r"a\\"»; let s = b«r##"q"#q"##»; «/* a /* b */ c */» let t = 1;'),
    ("php", "<p>it's</p>\n<?php $x = «'a'»; «# b »?>\n<i>c</i> <?php $y = 1; «// d »?> e #[f]"),
    ("css", ".a { background: url(http://x.y/it's); }\n«/* b */» .c::after { content: «'\\''» }"),
    ("python", "x = 5«# it's»\ny = «'''a\n\"\"\" # b'''» + «\"c\"»; z = 3"),
    ("python", 'f()\n""" not closed\ng()'),
    ("ruby", 'x = /["\']/ ; y = 1\ns = «"a #{b}"» «# c»\n«=begin\nit\'s\n=end»\nz = 1'),
    ("perl", "$x =~ m/[\"']/;\n$n = $#a; s#a#b#g; $y = «'\\''»; «# c»\n«=pod\n\n=end x\n\n=cut»\n$z = 1;"),
    ("shell", "n=${#a}; k=${x##*/}; m=$#; o=$((16#ff)); echo \\' a#b «# it's»\nx=1"),
    ("shell", "y=«'it'»\\'«'s \\'»; z=$«'a\\'b'»; echo «\"c\"»"),
    ("r", "x <- «r\"(a \" b)\"»; y <- «'it\\'s'»; z <- a$b %in% c «# d»"),
    ("sql", "select «'it'»«'s'» from t where a = «\"b\"»; «-- c»\nselect $$it's$$;\n«/* d */»"),
    ("lua", "x = «[[a \\]]» y = «[==[ ]] ]==]» «--[[ c\n]]» z = t[a[1]] w = #t «-- d»"),
    ("haskell", "f' x' = «'a'» : «\"b\\\n  \\c\"» «{- a {- b -} c -}»\nh = a --> b «-- it's»\ni = x |-- y"),
]


@pytest.mark.parametrize(("syntax", "marked"), SOURCES)
def test_comments_and_strings_are_those_of_the_language(syntax, marked):
    source = marked.replace("«", "").replace("»", "")
    found, end = "", 0
    for begin, behind in comments_and_strings(source, syntax):
        found += f"{source[end:begin]}«{source[begin:behind]}»"
        end = behind
    assert (found + source[end:]).removesuffix("»") == marked.removesuffix("»")


ODD = [
    *("/*", "*/", '"""', "'''", "'", '"', "`", 'R"x(', 'r"', 'r#"', 'r"-(', "[[", "--[[", "{-", "-}", "-"),
    *("\n=a", "\n=begin", '@"', "\\", "#", "//", "--", "=/", "=/[", "(/\\", "$'", "?", "1'", " #", "\\\r\n"),
    *("{-{-", "/*/*", "'\\", "\r"),
]


@pytest.mark.parametrize("syntax", SYNTAXES)
def test_time_is_linear_however_odd_a_source_is(syntax):
    def seconds(odd, size):
        source = odd * (size // len(odd)) + ">"
        begin = time.thread_time()
        for _ in comments_and_strings(source, syntax):
            pass
        return time.thread_time() - begin

    for odd in ODD:
        assert seconds(odd, 8_000) < 20 * min(seconds(odd, 1000) for _ in range(3)) + 0.02
