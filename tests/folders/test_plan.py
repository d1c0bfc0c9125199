"""A plan has all exact copies, and never removes the last file of a group or a file of a reference folder."""

import json
import os
import random
import re

import pytest

from docindex import folders
from docindex.folders.planning.plan import Plan
from docindex.folders.walking.path_keys import key_of, path_of
from tests.folders.trees import contents_of, copied, from_json, planned, to_json, tree


@pytest.mark.parametrize("seed", range(10))
def test_all_copies_of_each_content_are_found(root, seed):
    tree(random.Random(seed), root)
    expected = {}
    for path, content in contents_of(root).items():
        expected.setdefault(content, []).append(path)
    expected = sorted(
        sorted(map(key_of, paths))
        for content, paths in expected.items()
        if content and len({os.stat(path).st_ino for path in paths}) > 1
    )
    assert sorted(sorted(file.key for file in group.files) for group in planned(root)) == expected
    for group in planned(root):
        inodes = {os.stat(path_of(file.key)).st_ino for file in group.files}
        assert group.reclaimable == (len(inodes) - 1) * group.files[0].size


def test_a_plan_that_keeps_nothing_or_is_not_a_plan_is_refused(root):
    tree(random.Random(4), root)
    good = json.loads(to_json(planned(root)))
    for file in good["groups"][0]["files"]:
        file["keep"] = False
    with pytest.raises(ValueError, match="a group keeps no file; set"):
        from_json(json.dumps(good))
    for bad in [
        *("", "[]", "{}", "null", '{"docindex-plan": 2, "groups": []}', '{"docindex-plan": 1}'),
        '{"docindex-plan": 1, "groups": [{"files": [{"key": 1}]}]}',
        '{"docindex-plan": 1, "groups": [{"files": [], "digest": "x", "reclaimable": 0}]}',
    ]:
        with pytest.raises(ValueError, match="this is not a plan that dups --json wrote"):
            from_json(bad)


GROUP = {"files": [], "digest": "0" * 32, "reclaimable": 0}
FILE = {"key": "/a", "keep": True, "size": 8, "mtime_ns": -1, "device": 1, "inode": 2}


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        ('{"docindex-plan": 1,\n "groups": [}', "it is not JSON: see line 2, column 13"),
        ("[1]", "the JSON is [1], not an object with fields"),
        ("{}", "the JSON has no field 'docindex-plan'"),
        ('{"docindex-plan": 2}', "it has format 2, and this docindex reads format 1; make a new plan"),
        ([GROUP, {**GROUP, "digest": "x"}], "the digest of group 2, 'x', is not 32 hexadecimal digits"),
        ([{**GROUP, "files": [FILE, {**FILE, "keep": 1}]}],
         "the field 'keep' of file 2 of group 1 must be true or false, not 1"),
        ([{**GROUP, "files": [{"key": "/a"}]}], "file 1 of group 1 has no field 'keep'"),
        ([5], "group 1 is 5, not an object with fields"),
    ],
)  # fmt: skip
def test_the_error_says_where_a_plan_is_wrong(plan, message):
    text = plan if isinstance(plan, str) else json.dumps({"docindex-plan": 1, "groups": plan})
    with pytest.raises(
        ValueError, match=re.escape(f"plan.json is not a plan that dups --json wrote: {message}")
    ):
        Plan.from_json(text, name="plan.json")


@pytest.mark.parametrize("key", ["relative", "", "/a\0b", "../up"])
def test_a_plan_made_by_hand_with_an_invalid_path_is_refused(key):
    file = folders.PlannedFile(key, False, 8, -1)
    with pytest.raises(ValueError, match="is not a valid absolute path"):
        folders.Plan((folders.CopyGroup((file,), "0" * 32, 8),))


def test_isolated_folders_stay_isolated_when_one_contains_a_reference(root):
    os.makedirs(os.path.join(root, b"one", b"ref"))
    os.makedirs(os.path.join(root, b"two"))
    copied(root, b"one/ref/x", b"one/y", b"two/z")
    one, two = (key_of(os.path.join(root, name)) for name in (b"one", b"two"))
    (group,) = planned(root, reference=[f"{one}/ref"], isolate=[one, two])
    assert [os.path.basename(file.key) for file in group.others] == ["z"]
    os.unlink(os.path.join(root, b"two", b"z"))
    assert planned(root, reference=[f"{one}/ref"], isolate=[one, two]) == []


def test_newest_and_oldest_also_hold_for_a_very_new_file(root):
    copied(root, b"old", b"new")
    os.utime(os.path.join(root, b"new"))
    for keep, kept in (("newest", "new"), ("oldest", "old")):
        (group,) = planned(root, keep=keep)
        assert [os.path.basename(file.key) for file in group.kept] == [kept]


def test_a_folder_that_a_reference_links_to_is_a_reference(root):
    for folder in (b"archive", b"store", b"desk"):
        os.makedirs(os.path.join(root, folder))
    copied(os.path.join(root, b"store"), b"x")
    copied(os.path.join(root, b"desk"), b"y")
    os.symlink("../store", os.path.join(root, b"archive", b"2020"))
    reference = [key_of(os.path.join(root, b"archive"))]
    (group,) = planned(root, keep="first", reference=reference)
    assert [os.path.basename(file.key) for file in group.kept] == ["x"]


@pytest.mark.parametrize("key", ["relative", "", "/a\x00b", "/a\ud800b", "/a\\x00b", "../up"])
def test_a_plan_with_an_invalid_path_is_refused_before_anything_is_done(key):
    text = json.dumps({"docindex-plan": 1, "groups": [{"digest": "0" * 32, "reclaimable": 8, "files": [
        {**FILE, "key": "/tmp/kept"},
        {**FILE, "key": key, "keep": False},
    ]}]})  # fmt: skip
    with pytest.raises(ValueError, match=r"is not a valid absolute path|surrogates not allowed"):
        from_json(text)


def test_a_reference_folder_may_be_named_through_a_link(root):
    os.makedirs(os.path.join(root, b"data", b"Archive"))
    for name in (b"data/Archive/x", b"data/y"):
        with open(os.path.join(root, name), "wb") as file:
            file.write(b"the same")
    os.symlink(b"data", os.path.join(root, b"Docs"))
    (group,) = planned(root, keep="first", reference=[key_of(os.path.join(root, b"Docs/Archive"))])
    assert [file.key.rpartition("/")[2] for file in group.kept] == ["x"]
    (group,) = planned(root, keep="oldest", reference=[key_of(os.path.join(root, b"Docs/Archive"))])
    assert [file.key.rpartition("/")[2] for file in group.kept] == ["x"]
