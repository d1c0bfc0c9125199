"""The charts of the space that copies take."""

from docindex.report.groups import ReportFile
from docindex.report.space import space_by_age, space_by_folder, space_by_kind

DAY = 86_400 * 10**9


def test_kinds_of_files_are_in_words_the_largest_first():
    files = [
        ReportFile(f"/a/{name}", size) for name, size in (("x.MP3", 5), ("y.pdf", 9), ("z", 1), ("i.iso", 2))
    ]
    assert [(row.label, row.bytes) for row in space_by_kind(files)] == [
        ("documents", 9),
        ("music", 5),
        ("archives and disk images", 2),
        ("other files", 1),
    ]


def test_ages_are_in_order_from_the_youngest():
    now = 2_000_000_000 * 10**9
    ages = {"a month to a year": 40, "2 to 5 years": 1000, "less than a month": 0, "more than 10 years": 5000}
    files = [ReportFile(f"/{days}", 1, "", now - days * DAY) for days in ages.values()]
    rows = space_by_age([*files, ReportFile("/new", 3, "", now + DAY), ReportFile("/unknown", 7)], now)
    assert [(row.label, row.bytes, row.files) for row in rows] == [
        ("less than a month", 4, 2),
        ("a month to a year", 1, 1),
        ("2 to 5 years", 1, 1),
        ("more than 10 years", 1, 1),
        ("unknown", 7, 1),
    ]


def test_many_folders_are_summed_up_in_the_last_row():
    files = [ReportFile(f"/{number}", 100 - number) for number in range(40)]
    names = {file.key: f"folder {file.key[1:]} with a long name/below/x" for file in files}
    rows = space_by_folder(files, names)
    assert len(rows) == 12
    assert rows[0].label == "folder 0 with a long name/below"
    assert rows[-1].label == "29 other folders"
    assert sum(row.bytes for row in rows) == sum(file.size for file in files)
    assert space_by_folder([ReportFile("/a", 1)], {"/a": "a"})[0].label == "not in a folder"
