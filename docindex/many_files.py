"""Ask several index files as one, for reading only: `docindex.open_many`.

Takes paths of files with the same recipe, such as the shards of a cluster. Gives the answers that one index
with all documents would give. A search asks each file, with the rarity of fingerprints in all files. Must
never change a file.
"""

import contextlib
import dataclasses
import functools
import heapq
import itertools
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack, get_args

import numpy as np

from docindex import argument_checks
from docindex.argument_checks import shown
from docindex.errors import RecipeMismatch, TextNotKept, UnknownKey
from docindex.index.boilerplate import BoilerplateChoice, checked_choice
from docindex.index.scopes import open_scope
from docindex.index.writer import Index
from docindex.kernels.arrays import I64, U64, union
from docindex.merging import FilePath, merge
from docindex.opening import open as open_index
from docindex.query.clusters import Clusters
from docindex.query.defaults import SAME_WORK
from docindex.query.evidence import Evidence
from docindex.query.hash_lookup import own_frequencies
from docindex.query.near import DEFAULT_DISTANCE, Neighbour
from docindex.query.pairs import Pairs
from docindex.query.resolve import Id, Key, Query, Text, resolve
from docindex.query.scope import Scope
from docindex.query.search import EvidenceOf, Match, find_matches
from docindex.query.search_options import SearchOptions, SearchParameters
from docindex.query.similar import SimilarMethod, find_similar
from docindex.query.text_sources import Sources
from docindex.recipe import Recipe
from docindex.storage import stored_sketches
from docindex.storage.document_lookup import Document
from docindex.storage.templates import Ignored
from docindex.storage.user_sql import Where


def open_many(paths: Iterable[FilePath]) -> "ManyFiles":
    """Open several index files with the same recipe, to ask them as one. They are opened for reading only.

    Reads all keys, and the hashes of all texts: about three microseconds for each document. Keep the files
    unchanged while they are open here.

    `ValueError`, with the key and both paths, if two files have documents with the same key, or if two paths
    name one file. `RecipeMismatch` if the files have different recipes.

    >>> import docindex, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     for name in ("a", "b"):
    ...         with docindex.open(f"{folder}/{name}.docindex") as index:
    ...             index.add(f"{name}.txt", "The Analytical Engine weaves algebraical patterns.")
    ...     with docindex.open_many([f"{folder}/a.docindex", f"{folder}/b.docindex"]) as files:
    ...         found = files.search("The Engine weaves algebraical patterns.")
    ...         len(files), [match.key for match in found], [(pair.a, pair.b) for pair in files.pairs()]
    (2, ['a.txt', 'b.txt'], [('a.txt', 'b.txt')])
    """
    if isinstance(paths, (str, bytes, os.PathLike)):
        raise TypeError(f"paths must be a list of paths, not {shown(paths)}")
    with contextlib.ExitStack() as opened:
        files = [
            opened.enter_context(open_index(path, readonly=True))
            for path in argument_checks.many("paths", paths)
        ]
        if not files:
            raise ValueError("paths must name at least one index file")
        for file in files:
            if file.recipe.id != files[0].recipe.id:
                raise RecipeMismatch(
                    f"{file.path} has the recipe {file.recipe.to_json()}, and {files[0].path} has "
                    f"{files[0].recipe.to_json()}; index the texts of one of them again",
                    file.recipe,
                    files[0].recipe,
                )
        _refuse_repeated_files(files)
        _refuse_repeated_keys(files)
        return ManyFiles(files, _repeated_contents(files), opened.pop_all())


class ManyFiles:
    """Several index files, asked as one. Made by `open_many`; a context manager that closes the files.

    Answers are those of one index with all documents, except that the id of an answer is that in its own
    file: `path_of` names the file of a key. The boilerplate of all files holds for all of them.

    `search`, `similar` and `near` ask each file. `pairs`, `containments`, `clusters` and `sources` compare
    documents of different files: the first of these calls merges all files into a temporary one, which takes
    as much space as they do, until `close`.
    """

    def __init__(self, files: list[Index], repeated: list[I64], opened: contextlib.ExitStack) -> None:
        """`repeated` has the contents of each file whose texts an earlier file has, too."""
        self._files = files
        self._repeated = repeated
        self._opened = opened
        self._merged: Index | None = None

    @property
    def paths(self) -> list[str]:
        """The absolute paths of the files."""
        return [file.path for file in self._files]

    @property
    def recipe(self) -> Recipe:
        """The recipe of all files."""
        return self._files[0].recipe

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the files. Closing twice does no harm."""
        self._merged = None
        self._opened.close()

    def __repr__(self) -> str:
        return f"<docindex.ManyFiles: {len(self._files)} files>"

    def __len__(self) -> int:
        return sum(map(len, self._files))

    def __contains__(self, key: object) -> bool:
        return self._file_with(key) is not None

    def __iter__(self) -> Iterator[str]:
        return self.keys()

    def keys(self, *, prefix: str = "") -> Iterator[str]:
        """The keys of all files in ascending order, or those that begin with a prefix."""
        return heapq.merge(*(file.keys(prefix=prefix) for file in self._files))

    def __getitem__(self, key: str) -> Document:
        return self._home(key)[key]

    def text(self, key: str) -> str | None:
        """The text of a document, or None if it is not kept."""
        return self._home(key).text(key)

    def meta(self, key: str) -> Any:
        """The meta of a document, or None."""
        return self._home(key).meta(key)

    def path_of(self, key: str) -> str:
        """The path of the file that has the document with a key."""
        return self._home(key).path

    def search(
        self,
        query: str,
        *,
        where: Where | None = None,
        boilerplate: BoilerplateChoice = True,
        **options: Unpack[SearchParameters],
    ) -> list[Match]:
        """The documents that share fingerprints with a text or a document, best first.

        The parameters are those of `Index.search`. `TextNotKept` for a document whose text is not kept.
        """
        checked = SearchOptions(**options).checked(self.recipe)

        def ask(scope: Scope, asked: Query, evidence_of: EvidenceOf) -> list[Match]:
            return find_matches(scope, asked, checked, evidence_of)

        return self._ask(query, where, boilerplate, ask)[: checked.limit]

    def similar(
        self,
        query: str,
        min_resemblance: float = SAME_WORK,
        *,
        limit: int | None = None,
        where: Where | None = None,
        method: SimilarMethod = "shingles",
        boilerplate: BoilerplateChoice = True,
    ) -> list[Match]:
        """The documents that resemble a text or a document as a whole, the most similar first.

        The parameters are those of `Index.similar`. `TextNotKept` for a document whose text is not kept.
        """
        least = argument_checks.share("min_resemblance", min_resemblance, above_zero=True)
        way = argument_checks.choice("method", method, get_args(SimilarMethod))
        limit = argument_checks.limit(limit)

        def ask(scope: Scope, asked: Query, evidence_of: EvidenceOf) -> list[Match]:
            return find_similar(scope, asked, least, evidence_of, way)

        return self._ask(query, where, boilerplate, ask)[:limit]

    def near(
        self, query: str | int, distance: int = DEFAULT_DISTANCE, *, where: Where | None = None
    ) -> list[Neighbour]:
        """The documents whose simhash is near that of a text or a document, or near a simhash value."""
        _refuse_ids(query)
        simhash = query
        if isinstance(query, str):
            home = None if isinstance(query, Text) else self._file_with(query)
            if isinstance(query, Key):
                home = self._home(query)
            with open_scope(home or self._files[0], boilerplate=False) as scope:
                simhash = resolve(scope.db, query).stored_sketch(scope).simhash
        found = (file.near(simhash, distance, where=where) for file in self._files)
        return sorted(itertools.chain(*found), key=lambda near: (near.distance, near.key))

    def pairs(self, **parameters: Any) -> Pairs:
        """All pairs of documents that reach a minimum, also of different files; see `Index.pairs`."""
        return self._whole().pairs(**parameters)

    def containments(self, *arguments: Any, **parameters: Any) -> Pairs:
        """Which document contains which; see `Index.containments`."""
        return self._whole().containments(*arguments, **parameters)

    def clusters(self, *arguments: Any, **parameters: Any) -> Clusters:
        """Groups of similar documents; see `Index.clusters`."""
        return self._whole().clusters(*arguments, **parameters)

    def sources(self, query: str, **parameters: Any) -> Sources:
        """Where a text comes from: the few documents that together cover it; see `Index.sources`."""
        _refuse_ids(query)
        return self._whole().sources(query, **parameters)

    def _whole(self) -> Index:
        """An index of all documents in a temporary file, made once."""
        if self._merged is None:
            with contextlib.ExitStack() as opened:
                folder = opened.enter_context(tempfile.TemporaryDirectory(prefix="docindex-"))
                path = Path(folder, "all.docindex")
                merge(self.paths, path, on_conflict="keep")
                self._merged = opened.enter_context(open_index(path, readonly=True))
                self._opened.push(opened.pop_all())
        return self._merged

    def _ask(
        self,
        query: str,
        where: Where | None,
        boilerplate: BoilerplateChoice,
        ask: Callable[[Scope, Query, EvidenceOf], list[Match]],
    ) -> list[Match]:
        """The answers of all files, ordered by score, then by key."""
        home, text = self._resolved(query)
        choice = checked_choice(boilerplate)
        chosen = [choice if isinstance(choice, bool) else _known_names(file, choice) for file in self._files]
        _refuse_unknown_names(choice, chosen)
        matches = []
        with contextlib.ExitStack() as opened:
            scopes = [
                opened.enter_context(open_scope(file, where, boilerplate=own))
                for file, own in zip(self._files, chosen, strict=True)
            ]
            ignored = _joined([scope.ignored for scope in scopes])
            frequencies = _Frequencies(scopes, self._repeated)
            for file, scope in zip(self._files, scopes, strict=True):
                asked = resolve(scope.db, Key(query) if file is home else text)
                scope = dataclasses.replace(scope, ignored=ignored, frequencies=frequencies)
                matches += ask(scope, asked, functools.partial(_evidence, file, ignored, asked))
        return sorted(matches, key=lambda match: (-match.score, match.key))

    def _resolved(self, query: str) -> tuple[Index | None, Text]:
        """The file that has a document with this key, if it is a key, and the text of the query."""
        _refuse_ids(query)
        if isinstance(query, Text):
            return None, query
        home = self._home(query) if isinstance(query, Key) else self._file_with(query)
        if home is None:
            return None, Text(query)
        text = home.text(query)
        if text is None:
            raise TextNotKept(
                f"the text of {shown(query)} is not kept, so only its own file can be asked about it: open "
                f"{home.path} with docindex.open",
                home.path,
            )
        return home, Text(text)

    def _file_with(self, key: object) -> Index | None:
        return next((file for file in self._files if key in file), None)

    def _home(self, key: str) -> Index:
        _refuse_ids(key)
        found = self._file_with(key)
        if found is None:
            raise UnknownKey(f"there is no document {shown(key)} in any of the files", key)
        return found


_KNOWN = 2


class _Frequencies:
    """How many texts of some files have each hash. A text that several files have counts once."""

    def __init__(self, scopes: Sequence[Scope], repeated: Sequence[I64]) -> None:
        self._scopes = scopes
        self._repeated = repeated
        self._known: dict[bytes, I64] = {}
        """The results of the first questions, which each file asks: about the hashes of the query."""

    def __call__(self, hashes: U64) -> I64:
        asked = hashes.tobytes()
        if asked in self._known:
            return self._known[asked]
        total = np.zeros(len(hashes), np.int64)
        for scope, repeated in zip(self._scopes, self._repeated, strict=True):
            total += own_frequencies(scope, hashes, repeated)
        if len(self._known) < _KNOWN:
            self._known[asked] = total
        return total


def _evidence(file: Index, ignored: Ignored, query: Query, content: int, document: int) -> Evidence:
    """The evidence that a query and a document of a file share text."""

    @contextlib.contextmanager
    def opened() -> Iterator[Scope]:
        with open_scope(file, boilerplate=False) as scope:
            yield dataclasses.replace(scope, ignored=ignored)

    return Evidence(opened, query, Query(None, content, document))


def _joined(ignored: Sequence[Ignored]) -> Ignored:
    """The boilerplate of several files, together."""
    hashes = union(*(each.hashes for each in ignored))
    return Ignored((), hashes, union(*(each.shingles for each in ignored)))


def _known_names(file: Index, names: Sequence[str]) -> list[str]:
    known = {template.name for template in file.boilerplate}
    return [name for name in names if name in known]


def _refuse_unknown_names(choice: bool | list[str], chosen: Sequence[bool | list[str]]) -> None:
    if isinstance(choice, bool):
        return
    known = {name for names in chosen if not isinstance(names, bool) for name in names}
    for name in choice:
        if name not in known:
            raise KeyError(f"there is no template {shown(name)} in any of the files")


def _refuse_ids(query: object) -> None:
    if isinstance(query, Id):
        raise TypeError("an id names a document of one file only; give the key of the document")


def _refuse_repeated_files(files: Sequence[Index]) -> None:
    """`ValueError` if two paths name one file."""
    seen: dict[tuple[int, int], str] = {}
    for path in (file.path for file in files):
        status = Path(path).stat()
        identity = status.st_dev, status.st_ino
        if identity in seen:
            first = seen[identity]
            named = f"{path} twice" if first == path else f"one file as {first} and as {path}"
            raise ValueError(f"paths has {named}; name each file once")
        seen[identity] = path


def _refuse_repeated_keys(files: Sequence[Index]) -> None:
    """`ValueError` if two files have documents with the same key."""
    numbered = (zip(file, itertools.repeat(file.path)) for file in files)
    for (one, path), (other, second) in itertools.pairwise(heapq.merge(*numbered)):
        if one == other:
            raise ValueError(
                f"{path} and {second} both have a document {shown(one)}; rename one of them, or merge the "
                "files with docindex.merge and on_conflict='keep' or 'replace'"
            )


def _repeated_contents(files: Sequence[Index]) -> list[I64]:
    """The contents of each file whose texts an earlier file has, too."""
    before, repeated = np.empty(0, np.uint64), []
    for file in files:
        with file._store.reading() as db:  # noqa: SLF001 - a host would see a public method
            contents, own = stored_sketches.text_numbers(db)
        repeated.append(contents[np.isin(own, before)])
        before = union(before, own)
    return repeated
