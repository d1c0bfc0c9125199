"""The rules of ``.gitignore`` files mean what they mean to Git, and no rule takes long.

``python -m tests.folders.test_gitignore 10000`` compares 10,000 files of random rules with
``git check-ignore``, which takes some minutes; the suite compares 300.
"""

import os
import random
import subprocess
import sys
import tempfile
import time

import pytest

from docindex.folders.walking import gitignore
from docindex.folders.walking.gitignore import IgnoreRules

PIECES = (
    *(b"a", b"b", b"c", b"/", b"/", b"*", b"*", b"**", b"**/", b"/**"),
    *(
        b"?",
        b"[ab]",
        b"[!a]",
        b"[^b]",
        b"[a-c]",
        b"[]a]",
        b"[[:alpha:]]",
        b"[[:space:]x]",
        b"[[:bad:]]",
        b"[[:",
    ),
    *(b"[", b"]", b"-", b"\\", b"\\*", b"\\a", b"\\/", b"\\ ", b" ", b"\xff", b"\xc3\xa9", b"!", b"#", b"\t"),
    *(b"***", b"[a-]", b"[c-a]", b"[\\]]", b"[a\\-c]", b"[/a]", b"[!/]", b"\r", b".", b"[--0]", b"[[:]a]"),
    *(b"[[::]]", b"[a-[:digit:]]", b"^"),
)
LETTERS = b"abcab*\\ \xff\xc3\xa9-][!#\t.1\x0b^:\x01x?"


def random_rule(rng):
    pieces = [rng.choice(PIECES if rng.random() < 0.5 else PIECES[:10]) for _ in range(rng.randint(1, 6))]
    rule = b"".join(pieces)
    rule = b"!" * (rng.random() < 0.15) + b"/" * (rng.random() < 0.2) + rule + b"/" * (rng.random() < 0.2)
    return rule + b" " * (rng.randint(1, 2) if rng.random() < 0.1 else 0)


def random_path(rng):
    names = (
        bytes(rng.choice(LETTERS if rng.random() < 0.4 else LETTERS[:5]) for _ in range(rng.randint(1, 4)))
        for _ in range(rng.randint(1, 4))
    )
    return b"/".join(name if name.strip(b".") else b"a" for name in names)


def ignored_by_git(top, paths):
    """Whether Git ignores each path below a new repository, which may have files in it."""
    environment = {**os.environ, "HOME": os.fsdecode(top), "GIT_CONFIG_NOSYSTEM": "1"}
    run = {"cwd": top, "check": False, "capture_output": True, "env": environment}
    subprocess.run(["git", "init", "-q", "."], **run)
    command = [
        "git",
        "-c",
        "core.ignorecase=false",
        "check-ignore",
        "--no-index",
        "--stdin",
        "-z",
        "-v",
        "-n",
    ]
    done = subprocess.run(command, input=b"".join(path + b"\0" for path in paths), **run)
    patterns = done.stdout.split(b"\0")[2::4]
    assert len(patterns) == len(paths), done.stderr
    return [bool(pattern) and not pattern.startswith(b"!") for pattern in patterns]


def rules_in(folder, written=None):
    """The rules of the ``.gitignore`` in a folder, in which it is written first if it is given."""
    if written is not None:
        with open(os.path.join(folder, b".gitignore"), "wb") as file:
            file.write(written)
    rules = IgnoreRules(folder, ())
    rules.read(folder)
    return rules


def ignored_by_us(folder, path):
    """Whether a walk leaves out a path below a folder with rules, for itself or for a folder above it."""
    rules, names = rules_in(folder), path.split(b"/")
    above = [os.path.join(folder, *names[:count]) for count in range(1, len(names))]
    whole = os.path.join(folder, path)
    return any(rules.refused(each, is_folder=True) for each in above) or bool(
        rules.refused(whole, is_folder=os.path.isdir(whole))
    )


def compare_with_git(top, seed, files):
    """The cases in which Git and the walk differ, the number of cases, and of ignored paths."""
    rng, cases = random.Random(seed), []
    for number in range(files):
        written = b"\n".join(
            random_rule(rng) for _ in range(rng.choice((1, 1, 1, 2, 4)))
        ) + b"\n" * rng.randint(0, 1)
        base = os.path.join(top, b"%06d" % number)
        os.mkdir(base)
        rules_in(base, written)
        paths = [random_path(rng) for _ in range(10)]
        for path in paths[:4]:
            os.makedirs(os.path.join(base, path), exist_ok=True)
        cases += [(base, written, path) for path in paths]
    by_git = ignored_by_git(top, [os.path.relpath(os.path.join(base, path), top) for base, _, path in cases])
    differing = [
        (written, path, is_ignored)
        for (base, written, path), is_ignored in zip(cases, by_git, strict=True)
        if ignored_by_us(base, path) is not is_ignored
    ]
    return differing, len(cases), sum(by_git)


def test_random_rules_ignore_what_git_ignores(tmp_path):
    differing, cases, count = compare_with_git(os.fsencode(tmp_path), 7, 300)
    assert differing == []
    assert count > cases / 10


def test_each_class_has_the_bytes_that_it_has_in_git(tmp_path):
    classes = ("alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space")
    folders = [name.encode() for name in (*classes, "upper", "xdigit")]
    top = os.fsencode(tmp_path)
    for folder in folders:
        (tmp_path / folder.decode()).mkdir()
        rules_in(os.path.join(top, folder), b"x[[:%b:]]\n" % folder)
    paths = [
        folder + b"/x" + bytes([byte]) for folder in folders for byte in range(1, 256) if byte != ord("/")
    ]
    by_git = ignored_by_git(top, paths)
    assert [
        ignored_by_us(os.path.join(top, path[: path.index(b"/")]), path[path.index(b"/") + 1 :])
        for path in paths
    ] == by_git
    assert sum(by_git) > 300


HARD = [
    (b"*a" * 12 + b"b", b"a" * 80),
    (b"*" + b"*?" * 60 + b"b", b"a" * 240),
    (b"**/a/" * 12 + b"b", b"a/" * 40 + b"c"),
    (b"**/*a*/" * 12 + b"b", b"aaaa/" * 40 + b"c"),
    (b"*[!b]" * 40 + b"b", b"a" * 240),
]


@pytest.mark.parametrize(("pattern", "path"), HARD)
def test_no_pattern_takes_long(tmp_path, pattern, path):
    folder = os.fsencode(tmp_path)
    rules = rules_in(folder, pattern + b"\n")
    begin = time.thread_time()
    assert rules.refused(folder + b"/" + path, is_folder=False) is None
    assert time.thread_time() - begin < 1


def test_the_patterns_of_a_caller_take_no_long_time():
    begin = time.thread_time()
    rules = IgnoreRules(b"/r", ["*a" * 12 + "b", "*[!b]" * 12 + "b", "?*" * 12 + "b"])
    assert rules.refused(b"/r/" + b"a" * 240, is_folder=False) is None
    assert time.thread_time() - begin < 1


@pytest.mark.parametrize(
    "line", [b"name%d.txt", b"*.e%d", b"/folder%d/**/x", b"[!a]%d", b"[\x01-\x7f]%d", b"?*?%d"], ids=repr
)
def test_the_time_grows_with_the_size_of_the_file_and_the_number_of_names(tmp_path, line):
    """A quarter of a megabyte of rules, which is as much as is read: seconds for a thousand names."""
    took = []
    for size in (1 << 16, 1 << 18):
        folder = os.fsencode(tmp_path)
        written = b"".join(line % at + b"\n" for at in range(size // 4))[:size]
        begin = time.thread_time()
        rules = rules_in(folder, written)
        for number in range(50):
            rules.refused(folder + b"/some name %d.pdf" % number, is_folder=False)
        took.append(time.thread_time() - begin)
    assert took[1] < max(10 * took[0], 1), took


def test_the_last_line_is_no_rule_if_only_a_part_of_it_is_read(tmp_path):
    folder = os.fsencode(tmp_path)
    comment = b"#" * ((1 << 18) - 4) + b"\n"
    for pattern, reason in ((b"*b", "ignored"), (b"*bcd", None)):
        rules = rules_in(folder, comment + pattern)
        assert rules.refused(folder + b"/ab", is_folder=False) == reason


def test_the_rules_of_the_nearest_folder_come_first_and_those_of_other_folders_are_forgotten(tmp_path):
    for name, written in ((".", b"*.a\n/x/deep\n"), ("x", b"!*.a\n/b\n"), ("y", b"b\n")):
        (tmp_path / name).mkdir(exist_ok=True)
        (tmp_path / name / ".gitignore").write_bytes(written)
    top = os.fsencode(tmp_path)
    rules = IgnoreRules(top, ())
    rules.read(top)
    rules.read(top + b"/x")
    refused = [(b"1.a", None), (b"b", "ignored"), (b"deep", "ignored"), (b"z/b", None)]
    assert [(name, rules.refused(top + b"/x/" + name, is_folder=True)) for name, _ in refused] == refused
    rules.read(top + b"/y")
    assert rules.refused(top + b"/y/z/b", is_folder=False) == "ignored"
    assert rules.refused(top + b"/y/1.a", is_folder=False) == "ignored"
    assert len(rules._files) == 2


def test_a_root_may_be_the_root_of_the_system():
    rules = IgnoreRules(b"/", ())
    rules._files[b"/"], rules.exist = gitignore.IgnoreFile(b"/tmp/x\n"), True
    assert rules.refused(b"/tmp/x", is_folder=False) == "ignored"
    assert rules.refused(b"/x", is_folder=False) is None


if __name__ == "__main__":
    for round_number in range(-(-int(sys.argv[1]) // 1000)):
        with tempfile.TemporaryDirectory() as made:
            wrong, compared, hits = compare_with_git(os.fsencode(made), round_number, 1000)
        print(f"round {round_number}: {compared:,} paths, {hits:,} ignored, {len(wrong)} differ", *wrong[:3])
