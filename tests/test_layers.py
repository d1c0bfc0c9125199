"""Imports point one way: packages and modules import only from packages and modules below them."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "docindex"

# From the bottom up. A name is a package or a top-level module; names on one line do not import each other.
ORDER = [
    {"patterns", "spelling"},
    {"argument_checks", "cancel_tokens", "embedding", "errors", "version"} | {"worker_command"},
    {"checkpoints", "default_path", "private_files"},
    {"kernels"},
    {"recipe"},
    {"frontends"},
    {"reading"},
    {"sketching"},
    {"storage"},
    {"query"},
    {"index"},
    {"sql"},
    {"opening"},
    {"merging"},
    {"folders"},
    {"report"},
    {"__init__"},
    {"spark"},
    {"plugins"},
    {"cli"},
    {"_pyinstaller"},
    {"__main__"},
]
# The same for the modules and packages inside a package, which is named with dots.
INSIDE = {
    "kernels": [
        {"arrays"},
        {"joins", "kgrams", "minhash", "samples", "simhash_bits", "table_design"},
        {"feature_filter", "shingling", "slot_bands", "sorted_blocks", "sorted_tables", "winnowing"}
        | {"like_rows", "run_chains"},
        {"alignment"},
        {"study"},
    ],
    "kernels.study": [
        {"compressed", "group_sizes", "sample_estimators", "selections"},
    ],
    "frontends": [
        {"failures", "json_marks", "letter_pairs", "markup_tokens"},
        {"detection", "extracted", "nested_paragraphs", "safe_xml", "safe_zip", "work_budget"},
        {"numbered_places", "written_text"},
        {"cells", "chapter_text", "drawing_ml", "front_end", "line_places", "lzfu", "mime", "ooxml"}
        | {
            "opendocument",
            "packed_places",
            "part_list",
            "printed_lines",
            "quoted_lines",
            "text",
        },
        {"value_places"},
        {"decoded_source", "docx", "epub", "mbox", "odp", "ods", "odt", "pdf", "picture", "pptx"}
        | {"tar_archive", "tex_words", "xlsx", "zip_archive"},
        {"markdown_lines", "page_reader", "rtf_reader", "tex_reader"},
        {"delimited", "json_values", "markdown", "notebook", "rtf", "subtitles", "tex", "web_page"},
        {"mail_text", "xml_values"},
        {"eml", "msg"},
        {"recognition"},
        {"messages"},
        {"child"},
        {"extractor"},
        {"source_documents"},
        {"extract"},
    ],
    "reading": [
        {"protocol", "slicing", "symbol_bytes", "unicode_table", "english"},
        {"code_points"},
        {"byte_stream", "canonical_text"},
        {"plain_text", "code_languages", "code_prose", "code_syntax"},
        {"code_tokens"},
        {"code_vocabulary"},
        {"code_symbols"},
        {"code_slices", "sentences"},
        {"source_code"},
        {"registry"},
    ],
    "sketching": [
        {"sketches", "tokens", "text_parts", "word_weights"},
        {"incremental", "sketch_tables", "word_counts", "worker_protocol", "words_hashing"},
        {"single_text", "sketch_checks"},
        {"sketcher"},
        {"worker_process"},
        {"workers"},
    ],
    "storage": [
        {
            "values",
            "key_ranges",
            "slot_bytes",
            "fingerprint_bytes",
            "other_connection",
            "lock_holders",
            "descriptors",
            "lending",
            "tracked_files",
            "transactions",
        },
        {"file_failures"},
        {"user_sql", "sqlite_errors", "write_ahead_log", "log_guard", "file_identity"},
        {"held_files"},
        {"forks", "safe_closing"},
        {"handles", "waiting"},
        {"connector"},
        {"file_connections"},
        {"connection"},
        {"rows"},
        {"halved_sums", "tallies"},
        {"tables"},
        {"batch_rows", "file_rows", "untrusted", "segments"},
        {"app_schema", "extractions", "postings"},
        {"app_rows", "app_triggers", "incoming_documents", "traits", "simhash_index"},
        {"app_tables"},
        {"forward_index", "contents", "migrations"},
        {"document_lookup"},
        {"content_writer", "bulk", "sqlite3_connection"},
        {"documents", "templates", "hosts", "segment_writer", "document_removal", "check", "pending"}
        | {"stored_sketches"},
        {"host_connection"},
        {"maintenance"},
    ],
    "sql": [
        {"sql_values"},
        {"sources"},
        {"scalars", "table_functions", "grouping"},
        {"document_changes", "document_texts", "virtual_tables"},
        {"editable_table", "fingerprint_list"},
        {"register"},
        {"file_session"},
    ],
    "cli": [
        {"wording", "exit_codes", "settings", "progress_bar", "whole_file", "existing_index"}
        | {"key_reader"},
        {"group_records", "options", "typed_paths", "side_by_side", "stretch_lines"},
        {"difference_text", "file_selection", "group_pages", "group_text", "output"} | {"review_text"},
        {"text_input", "runner", "log_remarks"} | {"review_terminal"},
        {"code_pairs", "findings_summary", "scan_summary"},
        {"review_looks"},
        {"review_session"},
        {
            *("act_command", "add_command", "compare_command", "config_command", "dups_command"),
            *("info_command", "report_command", "scan_command", "search_command", "sources_command"),
            *("review_command", "sql_command", "undo_command"),
        },
        {"command_list"},
    ],
    "folders": [
        {"file_kinds", "mounts", "open_writers", "originals", "path_keys", "system"},
        {"places"},
        {"file_reader", "journal_steps", "local_times", "read_ahead"},
        {"file_presence", "gitignore", "journal", "program_trees", "trash", "write_guard"},
        {"act_list", "copy_groups", "file_content", "walk"},
        {"emptied_folders", "scan_tally"},
        {"restore"},
        {"exact_copies", "file_changes", "file_readers", "submissions"} | {"keep_rules"},
        {"compared_files", "earlier_files"},
        {"root_changes"},
        {"folder_pairs", "kept_files", "plan", "root_scan"},
        {"copied_folders", "removal", "scanner", "found_groups"} | {"folder_differences", "mirrored_folders"},
        {"likeness", "plan_review"},
        {"actions", "findings", "exact_findings", "review_file"},
    ],
    "report": [
        {"plots", "report_groups", "shown_names", "thumbnails"},
        {"chosen_pairs", "space"},
        {"page"},
    ],
    "query": [
        {"defaults", "template_runs", "measures", "spilled_numbers", "slot_index"},
        {"scope", "search_options"},
        {"passages"},
        {"resolve", "candidates", "shared_counts", "differences"},
        {"near", "estimates", "overlap", "regions", "shingle_sets", "joined_pairs", "ranking"},
        {"evidence"},
        {"compare", "pair_needs", "hash_lookup"},
        {"scoring"},
        {"search", "text_sources"},
        {"similar"},
        {"pair_nodes"},
        {"slot_pairs", "crowd_pairs"},
        {"pair_join"},
        {"pairs", "clusters"},
    ],
    "spark": [
        {"crowd_parts", "frame_checks", "keep_order", "missed_pairs", "spanning_forests", "verified_pairs"},
        {"band_meetings", "named_pairs", "sketching", "table_files"},
        {"frame_pairs", "index_files", "near_pairs"},
        {"frame_clusters"},
        {"deduplication"},
        {"command"},
        {"__main__"},
    ],
}
STANDARD_FOR_KERNELS = {
    *("collections", "dataclasses", "functools", "heapq", "itertools", "math", "operator", "typing"),
}


def imports(path):
    """The dotted names that a module imports."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own_imports(path):
    """The parts of the names that a module imports from docindex, without "docindex" itself."""
    for name in imports(path):
        if name == "docindex" or name.startswith("docindex."):
            yield name, name.split(".")[1:] or ["__init__"]


def modules():
    """Every module: its path, and its dotted name as parts."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path, path.relative_to(PACKAGE).with_suffix("").parts


def modules_in(package):
    """Every module in a package: its path, and the name of the module or subpackage inside the package."""
    prefix = tuple(package.split("."))
    for path, parts in modules():
        if parts[: len(prefix)] == prefix and parts[len(prefix)] != "__init__":
            yield path, parts[len(prefix)]


def level(order, name):
    return next(number for number, names in enumerate(order) if name in names)


def test_every_package_has_its_place_in_the_order():
    assert {parts[0] for _, parts in modules()} == set().union(*ORDER)


@pytest.mark.parametrize("package", INSIDE)
def test_every_module_has_its_place_in_the_order_of_its_package(package):
    assert {name for _, name in modules_in(package)} == set().union(*INSIDE[package])


def test_a_package_imports_only_from_packages_below_it():
    for path, parts in modules():
        for name, imported in own_imports(path):
            package = imported[0]
            if not (PACKAGE / package).exists() and not (PACKAGE / f"{package}.py").exists():
                package = "__init__"  # a name of docindex itself
            if package != parts[0]:
                assert level(ORDER, package) < level(ORDER, parts[0]), f"{path} imports {name}"


@pytest.mark.parametrize("package", INSIDE)
def test_a_module_imports_only_from_modules_below_it(package):
    order, prefix = INSIDE[package], package.split(".")
    for path, module in modules_in(package):
        for name, imported in own_imports(path):
            if imported[: len(prefix)] == prefix and imported[len(prefix)] != module:
                assert level(order, imported[len(prefix)]) < level(order, module), f"{path} imports {name}"


def test_kernels_import_numpy_and_arithmetic_only():
    for path, parts in modules():
        if parts[0] == "kernels":
            outside = {name.split(".")[0] for name in imports(path)} - {"docindex"}
            assert outside <= {"numpy"} | STANDARD_FOR_KERNELS, path


def public_definitions(tree):
    """The public functions and classes of a module, and the public methods of its classes."""
    for node in tree.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield node.name
            if isinstance(node, ast.ClassDef):
                methods = [member.name for member in node.body if isinstance(member, ast.FunctionDef)]
                yield from (name for name in methods if not name.startswith("_"))


def test_kernels_that_only_tests_use_are_in_study():
    used, defined = set(), set()
    for path, parts in modules():
        if parts[:2] == ("kernels", "study"):
            continue
        tree = ast.parse(path.read_text("utf-8"))
        used.update(node.id for node in ast.walk(tree) if isinstance(node, ast.Name))
        used.update(node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute))
        if parts[0] == "kernels":
            defined.update(public_definitions(tree))
    assert defined - used == set()


def test_commands_do_not_import_each_other():
    for path, parts in modules():
        if parts[0] == "cli" and parts[-1].endswith("_command"):
            others = [
                name
                for name, imported in own_imports(path)
                if len(imported) > 1 and imported[1].endswith("_command")
            ]
            assert others == [], path
