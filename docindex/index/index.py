"""`docindex.Index`: an index of documents in one file.

Checks what its caller gives, and passes it with a transaction or a scope to the functions of this package and
of `docindex.query`. Must never contain SQL or arithmetic.
"""

import contextlib
import functools
import os
import sqlite3
import weakref
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self, Unpack, get_args

import apsw

from docindex import arguments
from docindex.arguments import plain_text
from docindex.arrays.ranges import I64
from docindex.errors import DocIndexError
from docindex.frontends.extracted import Extracted
from docindex.frontends.front_end import ExtractionOptions
from docindex.index import exchange, keyed
from docindex.index.adding import AddProgress, Target, add_items, texts_of_file
from docindex.index.asking import Hints, Scopes, matches_in, similar_in, two_conditions
from docindex.index.boilerplate import Boilerplate, BoilerplateChoice
from docindex.index.file_records import FileRecords
from docindex.index.following import Followed, index_some, remove_all
from docindex.index.items import Item, TextsOfFiles, checked_key, item_of_row, meta_to_json
from docindex.query.clusters import Clusters, Linkage, find_clusters
from docindex.query.compare import Comparison, compare_texts, measure_texts
from docindex.query.defaults import SAME_WORK
from docindex.query.measures import Measures
from docindex.query.near import DEFAULT_DISTANCE, Neighbour, find_near, weigh_words
from docindex.query.pairs.joined import Method
from docindex.query.pairs.pairs import (
    PairOptions,
    PairRank,
    Pairs,
    checked_threshold,
    find_containments,
    find_pairs,
    find_pairs_between,
)
from docindex.query.regions.evidence import Evidence, checked_lengths
from docindex.query.resolve import Id, resolve
from docindex.query.scope import Scope
from docindex.query.search.options import MATCHES, Rank, SearchOptions, SearchParameters
from docindex.query.search.search import Match
from docindex.query.similar import SimilarMethod
from docindex.query.sources import LEAST_ADDED, SOURCES, Sources, find_sources
from docindex.recipe import Recipe
from docindex.sketching.weighted_words import WordWeights
from docindex.storage import check, maintenance
from docindex.storage.file import user_sql
from docindex.storage.file.connection import Connection, Store
from docindex.storage.file.connector import MEMORY
from docindex.storage.file.user_sql import Rows, UserBindings, Where
from docindex.storage.followed import rows, tables
from docindex.storage.maintenance import Stats
from docindex.storage.postings import lookup, segment_writer
from docindex.storage.rows import content_writer, contents, document_lookup
from docindex.storage.rows.document_lookup import Document
from docindex.storage.tables import SourceRow


class Index:
    """An index of documents in one file, opened by `docindex.open`. Threads can share it.

    - ``len(index)`` is the number of documents
    - ``index[key]`` is a `Document`, or raises `UnknownKey`, a `KeyError`
    - ``key in index`` tells whether there is a document with this key
    - iterating gives the keys in ascending order. It may or may not include documents that are added or
      removed during the iteration

    Where a key is expected, a `docindex.Id` is as good. A question is about a document, given by its key, or
    about any other text. If a string could be either, pass a `docindex.Text`, `docindex.Key` or
    `docindex.Id`. If you give the key or the text of a document, that document is one of the answers. `where`
    restricts the answers to documents that fulfil an SQL condition on the table `document`: a string, or
    ``(string, bindings)``. `boilerplate` chooses the templates that are ignored: all of the index, none if it
    is False, or those in a list of names (`KeyError` for an unknown name).
    """

    def __init__(
        self, store: Store, recipe: Recipe, add_functions: Callable[[Connection], None] | None = None
    ) -> None:
        """`add_functions` registers docindex's SQL functions on a connection, for `execute`.

        None for the index that SQL functions ask: they are there, and would give a hint for each row.
        """
        store.index_pending = functools.partial(index_some, recipe=recipe)
        self.recipe = recipe
        """The parameters with which the index was made."""
        self.boilerplate = Boilerplate(store, recipe)
        """The boilerplate: texts that comparisons ignore."""
        self.files = FileRecords(store)
        """The files that `docindex.folders.scan` has seen; ``index.files.under(folder)`` lists them."""
        self._store = store
        self._scopes = Scopes(store, recipe)
        self._hints = Hints(recipe, is_silent=add_functions is None)
        self._add_functions = add_functions
        self._with_functions: weakref.WeakSet[Connection] = weakref.WeakSet()

    @property
    def path(self) -> str:
        """The absolute path of the file; ``":memory:"`` for an index in memory.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.path
        ':memory:'
        """
        return self._store.path

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the file. Closing twice does no harm."""
        self._store.close()

    def cancel(self) -> None:
        """Stop the work of all other threads on this index: they get `Cancelled`. Committed work stays.

        `docindex.cancelling` stops the work of one block only.
        """
        self._store.cancel()

    def __repr__(self) -> str:
        state = "closed or busy"
        with contextlib.suppress(DocIndexError, ValueError):
            count = len(self)
            state = f"{count:,} document{'' if count == 1 else 's'}"
        return f"<docindex.Index {self.path!r}: {state}>"

    def __getitem__(self, key: str | Id) -> Document:
        return keyed.document_now(self._store, key)

    def __contains__(self, key: object) -> bool:
        with self._store.reading() as db:
            return keyed.known_key(db, key) is not None

    def __len__(self) -> int:
        with self._store.reading() as db:
            return document_lookup.document_total(db)

    def __iter__(self) -> Iterator[str]:
        return self.keys()

    def keys(self, *, prefix: str = "") -> Iterator[str]:
        """The keys in ascending order, or those that begin with a prefix, such as a folder.

        The iteration may or may not include documents that are added or removed during it.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add_many([("notes/b", "bee"), ("notes/a", "ay"), ("other", "oh")])
        ...     list(index.keys(prefix="notes/"))
        3
        ['notes/a', 'notes/b']
        """
        return keyed.each_key(self._store, checked_key(prefix, "a prefix of keys"))

    def text(self, key: str | Id) -> str | None:
        """The text of a document, or None if it is not kept."""
        with self._store.reading() as db:
            return contents.text_of(db, keyed.document_of(db, key).content)

    def meta(self, key: str | Id) -> Any:
        """The meta of a document, or None."""
        return self[key].meta

    def add(self, key: str, text: str | Extracted, *, meta: Any = ..., store_text: bool = True) -> None:
        """Store a text under a key. Replaces the text that the key had before.

        `text` may also be what `docindex.extract` returned; then passages know their places in the source.

        `meta` is any value that JSON can express. Without it, a document that exists keeps its meta;
        ``meta=None`` removes it, and `update` changes the meta alone. With ``store_text=False`` only the
        sketch of the text is stored; if the file already has the text, it stays. When `add` returns, the
        document is committed. Adding the same document again changes nothing.
        """
        item = (key, text) if meta is ... else (key, text, meta)
        self.add_many([item], workers=1, store_text=store_text)

    def add_file(
        self,
        path: str | os.PathLike[str],
        *,
        key: str | None = None,
        encoding: str | None = None,
        meta: Any = ...,
        store_text: bool = True,
        options: ExtractionOptions | None = None,
    ) -> list[str]:
        """Store the text of a file in any format that `docindex.extract` reads, and return the keys.

        The key of the document is `key`, or else the path as it is given; a scan and the command use absolute
        paths. A document inside the file, such as a message of a mailbox, has that key followed by ``!/`` and
        its name. If it is not in the file any more, its document is removed. With
        ``ExtractionOptions(archives=True)`` as `options`, the files inside zip and tar archives are read too.
        `UnreadableFile` if the file has no text that can be read.

        >>> import docindex, pathlib, tempfile
        >>> with tempfile.TemporaryDirectory() as folder, docindex.open(":memory:") as index:
        ...     _ = pathlib.Path(folder, "ada.txt").write_text("The Analytical Engine")
        ...     index.add_file(pathlib.Path(folder, "ada.txt"), key="ada")
        ['ada']
        """
        key, texts = texts_of_file(path, key, encoding, options)
        before = [*self.files.parts_of(key), *([key] if key in self else [])]
        items = ((each, text) if meta is ... else (each, text, meta) for each, text in texts.items())
        self.add_many(items, store_text=store_text)
        self.remove_many([part for part in before if part not in texts])
        return list(texts)

    def add_many(
        self,
        items: Iterable[Item],
        *,
        workers: int | None = None,
        progress: AddProgress | None = None,
        commit_every: int | None = None,
        store_text: bool = True,
    ) -> int:
        """Store many documents, given as (key, text) or (key, text, meta), and return their number.

        Reads the items one after the other, and commits about every 32 million characters or 30,000
        documents, and at the end. With ``commit_every=n`` it also commits after each n documents: a crash
        loses fewer, and others see them sooner, but each commit takes some milliseconds. `progress` is called
        with the number of documents that were read, and with the number of all items if ``len(items)`` tells
        it, else None. If there is much text, other processes help to make the sketches: with this one, they
        are as many as the cores, but at most four, or `workers`. ``workers=1`` uses this process only, with
        the same result. After an error in `items` or in `progress`, earlier commits stay in the file.
        """
        files = items if isinstance(items, TextsOfFiles) else None
        target = Target(self._store, self.recipe, arguments.switch("store_text", store_text), files)
        return add_items(target, items, workers, progress, commit_every)

    def add_from(
        self, connection: apsw.Connection | sqlite3.Connection, sql: str, bindings: UserBindings = ()
    ) -> int:
        """Store the rows of a statement on a connection of yours as documents, and return their number.

        The columns are key, text, and meta if there is a third one. A key that is a number becomes text; meta
        is JSON, or any other text or number. As fast as `add_many`, which says when it commits.

        >>> import docindex, sqlite3
        >>> notes = sqlite3.connect(":memory:")
        >>> _ = notes.execute("create table note (id integer primary key, body text)")
        >>> _ = notes.execute("insert into note (body) values ('The Analytical Engine')")
        >>> with docindex.open(":memory:") as index:
        ...     index.add_from(notes, "select id, body from note"), index.text("1")
        (1, 'The Analytical Engine')
        """
        if not isinstance(connection, (apsw.Connection, sqlite3.Connection)):
            raise TypeError(f"connection must be one of apsw or sqlite3, not {arguments.shown(connection)}")
        statement = plain_text("sql", sql)
        return self.add_many(map(item_of_row, connection.execute(statement, bindings)))

    def update(self, key: str | Id, *, meta: Any) -> None:
        """Replace the meta of a document, and leave its text alone. None removes the meta.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add("ada.txt", "The Analytical Engine")
        ...     index.update("ada.txt", meta={"by": "Ada"})
        ...     index.meta("ada.txt")
        {'by': 'Ada'}
        """
        written = meta_to_json(key, meta)
        with self._store.writing() as db:
            document = keyed.document_of(db, key)
            rows.refuse_rows(db, [document.key])
            content_writer.relabel(db, document.id, document.key, written)

    def remove(self, key: str | Id) -> None:
        """Remove a document."""
        self.remove_many([key])

    def remove_many(self, keys: Iterable[str | Id]) -> int:
        """Remove documents in one transaction, and return their number.

        If one of the keys is unknown, or is given twice, nothing is removed. Many keys at once are removed
        much faster than one by one.
        """
        return keyed.remove_keys(self._store, keys)

    def rename(self, old: str | Id, new: str) -> None:
        """Give a document another key. Its id, text and meta stay the same.

        `ValueError` if another document has the key `new`.
        """
        new = checked_key(new)
        with self._store.writing() as db:
            keyed.rename_document(db, old, new)

    def rename_prefix(self, old: str, new: str) -> int:
        """Put `new` in the place of `old` in all keys that begin with `old`, and return how many these are.

        One transaction: all documents are renamed, or none. `ValueError` if another document has one of the
        new keys. Use it when a folder was renamed: ``index.rename_prefix("drafts/", "2026/drafts/")``.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add_many([("old/a", "ay"), ("old/b", "bee"), ("other", "oh")])
        ...     index.rename_prefix("old/", "new/"), list(index)
        3
        (2, ['new/a', 'new/b', 'other'])
        """
        old, new = (checked_key(prefix, "a prefix of keys") for prefix in (old, new))
        return keyed.rename_keys(self._store, old, new)

    def export(self) -> Iterator[str]:
        """Yield a line of JSON for each document, in the order of the keys. `load` reads these lines.

        The text is null if it is not kept. `load` refuses such a line.
        """
        return exchange.lines_of(self._store)

    def load(self, lines: Iterable[str], *, progress: AddProgress | None = None) -> int:
        """Add the documents that `export` wrote, and return their number."""
        return self.add_many(exchange.items_of_lines(lines), progress=progress)

    def export_sketches(self, *, keep_text: bool = True) -> Any:
        """All documents with their sketches, as a `pyarrow.RecordBatchReader`, in the order they were added.

        ``pyarrow.parquet.ParquetWriter``, DuckDB and Polars read it batch by batch, and `load_sketches` makes
        the same index of it. `schema/sketches.md` explains the columns. A text that is not kept is null; with
        ``keep_text=False``, all are. Boilerplate, the places in sources and the records of scanned files are
        not exported; `docindex.merge` copies these too.

        Documents that are added or removed while it is read may or may not be included. `ValueError` for a
        text with a lone surrogate, which Arrow cannot hold. `ModuleNotFoundError` if the package pyarrow is
        not installed.
        """
        return exchange.export_batches(self._store, self.recipe, keep_text=keep_text)

    def load_sketches(
        self, batches: Any, *, store_text: bool = True, progress: AddProgress | None = None
    ) -> int:
        """Store documents that were sketched elsewhere, without sketching them again; return their number.

        `batches` is a `pyarrow.Table`, a record batch or a reader, an iterable of these, or any object that
        gives an Arrow stream, such as a DataFrame of Polars or a relation of DuckDB. The columns are those of
        `export_sketches` and `docindex.spark.sketch`. The file becomes the one that `add_many` would make of
        the texts. If a text is null, only its sketch is stored.

        Commits as often as `add_many`, and uses as much memory. `progress` is called with the number of
        documents that were read, and the number of rows if the input tells it, else None. `RecipeMismatch`
        if a sketch was made with another recipe than the index has; `ValueError`, with the key, for a row
        that contradicts itself or is not the sketch of its text. Where there is no text, the sketch is
        taken to be true. `ModuleNotFoundError` if the package pyarrow is not installed.
        """
        target = Target(self._store, self.recipe, arguments.switch("store_text", store_text))
        return exchange.load_batches(target, batches, progress)

    def follow(self, table: str, *, key: str, text: str, meta: str | None = None, prefix: str = "") -> None:
        """Index the rows of a table in the same file from now on, without a copy of their texts.

        `key`, `text` and `meta` are columns of the table. The key of a document is `prefix`, followed by the
        value in the column `key`, which must be different in each row and should have an index, because each
        text is found by it. A row whose `text` is NULL is no document. Triggers note which rows change, and
        the next question or change indexes these rows, whoever wrote them. Each text stays in the table,
        where it is read for exact numbers and passages.

        A value in the column `key` that is a number or a text is written as such, and a BLOB in hexadecimal
        digits. Only a change of the row changes its document: `add`, `update`, `rename` and `remove` refuse
        it.

        Call it again after a change of your schema, or at each start: an app that makes its table anew drops
        the triggers with the old table, and this makes them again. Otherwise it does nothing then.

        `ValueError` if there is no such table or column, if the table is followed in another way already, if
        the key of a row would be that of another document, or for a view or a virtual table, which have no
        such triggers.

        >>> import docindex, sqlite3, tempfile, contextlib
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     with contextlib.closing(sqlite3.connect(f"{folder}/app.db")) as app:
        ...         _ = app.execute("create table note (id integer primary key, body text)")
        ...         _ = app.execute("insert into note (body) values ('The Analytical Engine')")
        ...         app.commit()
        ...     with docindex.open(f"{folder}/app.db", create=True) as index:
        ...         index.follow("note", key="id", text="body")
        ...         list(index), index.text("1")
        (['1'], 'The Analytical Engine')
        """
        row = SourceRow(
            checked_key(table, "table"),
            checked_key(key, "key"),
            checked_key(text, "text"),
            None if meta is None else checked_key(meta, "meta"),
            checked_key(prefix, "prefix"),
        )
        with self._store.writing() as db:
            tables.follow(db, row)

    def followed(self) -> list[Followed]:
        """The tables that the index follows, in the order of their names.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.followed()
        []
        """
        with self._store.reading() as db:
            return [Followed(*row, rows.count_rows(db, row)) for row in tables.sources(db)]

    def unfollow(self, table: str) -> None:
        """Remove the documents and the triggers of a followed table; `KeyError` for another table."""
        # The queue may have rows that cannot be indexed here: then this is the way out.
        with self._store.writing(indexes_queue=False) as db:
            keys = tables.unfollow(db, plain_text("table", table))
            remove_all(db, keys)

    def flush(self) -> None:
        """Index now what triggers and SQL functions have queued, so that the next question need not.

        That question would wait for other writers, too. So call this after a batch of changes.
        """
        with self._store.writing():
            pass  # it begins with the queue

    def rebuild(self, table: str) -> None:
        """Index again those rows of a followed table that changed without its triggers.

        The triggers miss all changes while they are dropped, and rows that `replace` removes because of a
        unique index on an expression, or on a part of the rows. Makes lost triggers again.
        """
        with self._store.writing() as db:
            tables.rebuild(db, plain_text("table", table))

    def search(
        self,
        query: str | Id,
        *,
        window: int | None = None,
        budget: int | None = None,
        min_containment: float = 0.0,
        min_reverse_containment: float = 0.0,
        min_resemblance: float = 0.0,
        min_shared: int = 0,
        limit: int | None = MATCHES,
        where: Where | None = None,
        rank: Rank = "likeness",
        ignore_above: int | None = None,
        exact: bool = False,
        boilerplate: BoilerplateChoice = True,
    ) -> list[Match]:
        """The documents that share fingerprints with a text or a document, best first.

        ``rank="likeness"`` puts the documents first that are most like the query: that share rare
        fingerprints with it, and have little else. ``rank="excerpt"`` puts the documents first that hold most
        of the query, whatever else they have: use it for quotations, and for a text into which a passage may
        have been inserted. `docindex.query.search.scoring` has the formulas and what they find.

        The numbers of a match count fingerprints. (Its `basis` is "fingerprints": they are close to, but not
        the same as, those of `compare`.) Each match reaches `min_containment`, `min_reverse_containment`,
        `min_resemblance` and `min_shared`, the number of shared fingerprints. But if the query has no
        fingerprints, or only ignored ones, the matches are the documents with the same words, whatever these
        minimums are. Their numbers are those of `compare`.

        With `exact` the numbers of the matches are those of `compare`: counted in shingles if both texts are
        kept, else estimated. All minimums then apply to these numbers, and `min_shared` to what `basis`
        names: shared shingles, if both texts are kept. The matches are all documents that
        reach them and share a fingerprint that was looked up; a document that has only runs shorter than
        `recipe.guarantee` in common with the query may be missed. The order is the same as without `exact`.
        A search with `exact` reads the texts of the matches, and with a minimum the texts of all documents
        down to the last match.

        A `window` larger than that of the index looks up fewer fingerprints. So does a `budget`, which is the
        number of fingerprints to look up. Then small copies may be missed, but the numbers of the matches
        still count all fingerprints. (For a document whose text is not kept, `window` has no effect.)
        `ignore_above` ignores fingerprints that more than this many texts have, as if they were boilerplate.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add("ada.txt", "The Analytical Engine weaves algebraical patterns as looms weave.")
        ...     found = index.search("He said: 'The Engine weaves algebraical patterns as looms weave.'")
        >>> [(match.key, match.basis) for match in found]
        [('ada.txt', 'fingerprints')]
        """
        return self.search_many(
            [query],
            where=where,
            boilerplate=boilerplate,
            window=window,
            budget=budget,
            min_containment=min_containment,
            min_reverse_containment=min_reverse_containment,
            min_resemblance=min_resemblance,
            min_shared=min_shared,
            limit=limit,
            rank=rank,
            ignore_above=ignore_above,
            exact=exact,
        )[0]

    def search_many(
        self,
        queries: Iterable[str | Id],
        *,
        where: Where | None = None,
        boilerplate: BoilerplateChoice = True,
        **options: Unpack[SearchParameters],
    ) -> list[list[Match]]:
        """The result of `search` for each of many queries, all from the same state of the index.

        The parameters are those of `search`. One read transaction answers all queries, which is faster than
        one for each. The answers come as a list: if they came one by one, the transaction would stay open
        while you work on them.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add("ada.txt", "The Analytical Engine weaves algebraical patterns as looms weave.")
        ...     quotes = "Engines: The Engine weaves algebraical patterns as looms weave.", "other words"
        ...     [[match.key for match in found] for found in index.search_many(quotes, limit=1)]
        [['ada.txt'], []]
        """
        checked = SearchOptions(**options).checked(self.recipe)
        # Make the list first: the caller's iterable must not run inside our transaction.
        listed = list(arguments.many("queries", queries))
        opened = functools.partial(self._scopes.open, boilerplate=boilerplate)
        with opened(where) as scope:
            return [matches_in(scope, query, checked, opened, self._hints) for query in listed]

    def sources(
        self,
        query: str | Id,
        *,
        limit: int | None = SOURCES,
        min_share: float = LEAST_ADDED,
        where: Where | None = None,
        boilerplate: BoilerplateChoice = True,
    ) -> Sources:
        """Where a text comes from: the few documents that together cover it, and what each of them adds.

        The first document covers most of the text. Each of the others covers most of what the documents
        before it leave: at least `min_share` of the text, and at least `recipe.guarantee` symbols, or half of
        a short text. Documents with the same content count once. Of several documents that
        add the same, the one with the first key is taken. A document that you ask about is not one of its
        own sources.

        Documents are chosen by the symbols around the fingerprints that they share with the text. So another
        document may add a few symbols more. The shares of the chosen documents count symbols in passages,
        as coverage does, without boilerplate. They are exact if the text of the document is kept; see
        `TextSource.basis`. A text without fingerprints has no sources.

        >>> import docindex
        >>> with docindex.open(":memory:", recipe=docindex.Recipe(k=5, window=4)) as index:
        ...     index.add("hamlet", "To be, or not to be: that is the question.")
        ...     index.add("twelfth night", "If music be the food of love, play on!")
        ...     found = index.sources("To be or not to be the food of love? Yes.")
        >>> [(source.key, round(source.added, 2)) for source in found], round(found.uncovered, 2)
        ([('twelfth night', 0.52), ('hamlet', 0.38)], 0.1)
        """
        limit, min_share = arguments.limit(limit), arguments.share("min_share", min_share)
        with self._scopes.open(where, boilerplate=boilerplate) as scope:
            return find_sources(scope, resolve(scope.db, query), limit, min_share)

    def similar(
        self,
        query: str | Id,
        min_resemblance: float = SAME_WORK,
        *,
        limit: int | None = None,
        where: Where | None = None,
        method: SimilarMethod = "shingles",
        boilerplate: BoilerplateChoice = True,
    ) -> list[Match]:
        """The documents with at least this resemblance to a text or a document, the most similar first.

        Resemblance is counted in shingles. It is exact if both texts are kept, and no such document is
        missed. Otherwise it is an estimate with a standard error: a document near the threshold may be missed
        or added. The first call reads a row for each text of the index, a second for a million texts.
        Later calls look up slots in memory, 145 bytes a text, if `min_resemblance` is .73 or more; they miss
        a document at the threshold with a probability below 2 * 10^-9. With smaller thresholds, or with
        boilerplate that is large compared with the text, they read all rows again.

        ``method="features"`` looks up the documents that share features in the file instead: it misses more
        documents, and `doc_filter` of SQL says how many. `limit` is the largest number of answers.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add("hamlet.txt", "To be, or not to be, that is the question")
        ...     [match.key for match in index.similar("to be or not to be: that is the question!")]
        ['hamlet.txt']
        """
        min_resemblance = arguments.share("min_resemblance", min_resemblance, above_zero=True)
        method = arguments.choice("method", method, get_args(SimilarMethod))
        limit = arguments.limit(limit)
        opened = functools.partial(self._scopes.open, boilerplate=boilerplate)
        with opened(where) as scope:
            return similar_in(scope, query, min_resemblance, opened, method, self._hints)[:limit]

    def near(
        self, query: str | int, distance: int = DEFAULT_DISTANCE, *, where: Where | None = None
    ) -> list[Neighbour]:
        """All documents whose simhash differs in at most `distance` bits, the nearest first.

        `query` is a text, a key, a `docindex.Id`, or a simhash value.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add("fox.txt", "The quick brown fox jumps over the lazy dog")
        ...     index.near("the QUICK brown fox jumps over the lazy dog!")
        [Neighbour(key='fox.txt', id=1, distance=0)]
        """
        return self.near_many([query], distance, where=where)[0]

    def near_many(
        self, queries: Iterable[str | int], distance: int = DEFAULT_DISTANCE, *, where: Where | None = None
    ) -> list[list[Neighbour]]:
        """The result of `near` for each of many queries, much faster than query by query."""
        distance = arguments.whole_number("distance", distance, least=0, most=63)
        # Make the list first: the caller's iterable must not run inside our transaction.
        listed = list(arguments.many("queries", queries))
        with self._scopes.open(where, boilerplate=False) as scope:
            return find_near(scope, listed, distance)

    def compare(
        self,
        a: str | Id,
        b: str | Id,
        *,
        min_length: int | None = None,
        boilerplate: BoilerplateChoice = True,
        join: int = 0,
    ) -> Comparison:
        """Compare two texts or documents: how much they have in common, and their common passages.

        Common runs of less than `min_length` symbols are no passages, and coverage does not count them. By
        default, that is 36 symbols, or `recipe.guarantee` if that is less: shorter runs are often phrases
        that anybody writes. ``min_length=1`` gives all runs that were found. A run is found if it leaves a
        common fingerprint: always with `recipe.guarantee` symbols, often with `recipe.k` or more, never with
        fewer. If one text is nothing but the run, it is a passage, whatever `min_length` is.

        A passage is marked as `boilerplate` if nothing in it is long enough for a passage without the text of
        templates. Coverage leaves boilerplate out: it counts neither as covered nor as part of the text.

        With `join`, passages that follow each other in both texts, with at most `join` symbols between them,
        become one; `Passage.identical` is then the share of its symbols that are the same. Coverage does not
        change. `Comparison.regions` finds reworded text too.

        If a text is not kept, there are no passages, and coverage is 0, which says nothing. (It is 1 if both
        texts have the same words.) The measures are then estimates; see `Comparison.basis`.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     found = index.compare("to be or not to be", "To be or not to be, that is the question")
        >>> found.containment, round(found.reverse_containment, 2), found.exact
        (1.0, 0.33, True)
        """
        min_length, join = checked_lengths(min_length, join)
        opened = functools.partial(self._scopes.open, boilerplate=boilerplate)
        with opened() as scope:
            evidence = Evidence(opened, resolve(scope.db, a), resolve(scope.db, b))
            found = compare_texts(scope, evidence, min_length, join)
            self._hints.mistyped_keys(scope, found, a, b)
            return found

    def measures(self, a: str | Id, b: str | Id, *, boilerplate: BoilerplateChoice = True) -> Measures:
        """The numbers that `compare` gives, without the passages: several times faster.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     round(index.measures("to be or not to be", "To be or not to be, said he").containment, 2)
        1.0
        """
        with self._scopes.open(boilerplate=boilerplate) as scope:
            found = measure_texts(scope, resolve(scope.db, a), resolve(scope.db, b))
            self._hints.mistyped_keys(scope, found, a, b)
            return found

    def pairs(
        self,
        *,
        min_resemblance: float | None = None,
        min_containment: float | None = None,
        limit: int | None = None,
        where: Where | None = None,
        ignore_above: int | None = None,
        method: Method = "shingles",
        boilerplate: BoilerplateChoice = True,
        min_shared: int = 0,
        between: tuple[Where, Where] | None = None,
        rank: PairRank = "measure",
    ) -> Pairs:
        """All pairs of documents that reach a minimum resemblance or a minimum containment, best first.

        Give either `min_resemblance` or `min_containment`; without them, the minimum resemblance is 0.5. A
        pair reaches `min_containment` if one document contains at least this share of the other. Of these
        pairs, those that share fewer than `min_shared` shingles (or of what `basis` names) are left out.
        `limit` is the largest number of pairs. ``rank="measure"`` puts the pairs first whose measure is the
        highest, that is, the one of which a minimum is given; ``rank="shared"`` those that share the most.

        `between` takes two conditions like `where`, for two sets of documents, such as new and old ones. Only
        pairs of a document `a` in the first set and a document `b` in the second set are found. A document in
        both sets may be on either side; if both documents are, `a` is the one with the first key. `where`
        cannot be given too: write it into both conditions. No pairs inside a set are formed. If one set has
        at most 256 documents, what resembles each of them is looked for as `similar` does, and nothing else
        is read; for a minimum containment, and with `ignore_above`, all texts are.

        Shingles are counted. No pair of kept texts is missed, and its numbers are exact. The numbers of a
        pair with a text that is not kept are estimates: by slots for a minimum resemblance, by fingerprints
        for a minimum containment, or if something is ignored. Such a pair near the threshold may be missed or
        added.

        The other methods are estimates that need no text: "fingerprints" finds the pairs whose shares of
        fingerprints reach the threshold, "slots" those whose estimate by slots does, "features" those of
        them that also pass the feature filter, which misses some.

        `ignore_above` ignores shingles (or fingerprints) that more than this many texts have. Without it,
        nothing is ignored, unless the texts have too many similar pairs to count in time proportional to the
        texts: then shingles of more than 1000 texts are ignored. `ignore_above` of
        the result is the limit that was used, or None, and `set_aside` is how many different shingles were
        ignored. A limit as large as the index ignores nothing.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add("draft", "The Analytical Engine weaves algebraical patterns.")
        ...     index.add("final", "The ANALYTICAL engine weaves algebraical patterns")
        ...     [(pair.a, pair.b, pair.resemblance) for pair in index.pairs(min_resemblance=0.5)]
        [('draft', 'final', 1.0)]
        """
        threshold = checked_threshold(min_resemblance, min_containment, method, ignore_above)
        options = PairOptions(limit=limit, rank=rank, min_shared=min_shared).checked()
        sides = two_conditions(between, where)
        opened = functools.partial(self._scopes.open, where, boilerplate=boilerplate, between=sides)
        return (find_pairs if sides is None else find_pairs_between)(opened, threshold, options)

    def containments(
        self,
        min_containment: float = SAME_WORK,
        *,
        limit: int | None = None,
        where: Where | None = None,
        ignore_above: int | None = None,
        method: Method = "shingles",
        boilerplate: BoilerplateChoice = True,
    ) -> Pairs:
        """The pairs of documents in which the second, `b`, contains at least this share of the first, `a`.

        The other parameters are those of `pairs`.

        >>> import docindex
        >>> with docindex.open(":memory:", recipe=docindex.Recipe(k=5, window=4)) as index:
        ...     index.add("line", "To be, or not to be")
        ...     index.add("speech", "To be, or not to be, that is the question")
        ...     [(pair.a, pair.b) for pair in index.containments(0.7)]
        [('line', 'speech')]
        """
        threshold = checked_threshold(None, min_containment, method, ignore_above)
        opened = functools.partial(self._scopes.open, where, boilerplate=boilerplate)
        return find_containments(opened, threshold, arguments.limit(limit))

    def clusters(
        self,
        min_resemblance: float = SAME_WORK,
        *,
        linkage: Linkage = "connected",
        where: Where | None = None,
        ignore_above: int | None = None,
        method: Method = "shingles",
        boilerplate: BoilerplateChoice = True,
    ) -> Clusters:
        """Groups of similar documents, the largest first. Each member says why it belongs to its group.

        A pair is two documents with at least this resemblance. "connected": any two members are linked by a
        chain of pairs. "greedy": each member is in a pair with the first member, the leader. "complete": any
        two members are a pair. The other parameters are those of `pairs`.

        A connected cluster is exact, but if it has more than 64 texts, not all its pairs are compared: `like`
        is then an earlier member of a pair, and not always the closest one.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     for key, text in ("a", "some words"), ("b", "Some words!"), ("c", "others"):
        ...         index.add(key, text)
        ...     [cluster.keys for cluster in index.clusters()]
        [('a', 'b')]
        """
        linkage = arguments.choice("linkage", linkage, get_args(Linkage))
        threshold = checked_threshold(min_resemblance, None, method, ignore_above)
        with self._scopes.open(where, boilerplate=boilerplate) as scope:
            return find_clusters(scope, threshold, linkage)

    def word_weights(self, *, where: Where | None = None) -> WordWeights:
        """How rare each word is among the texts of the index, for ``docindex.simhash(text, idf=...)``.

        Counts the texts that are kept, each once, however many documents have it. Reads all of them, which
        takes half a minute for each gigabyte. The simhash values in the index do not change.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     for name in ("cat", "ls", "tac"):
        ...         index.add(name, f"NAME: {name}; see the user commands for more")
        ...     weights = index.word_weights()
        >>> texts = [f"NAME: {name}; see the user commands for more" for name in ("cat", "tac")]
        >>> apart = docindex.distance(*(docindex.simhash(text) for text in texts))
        >>> docindex.distance(*(docindex.simhash(text, idf=weights) for text in texts)) > apart
        True
        """
        with self._scopes.open(where, boilerplate=False) as scope:
            return weigh_words(scope)

    def document_frequencies(self) -> I64:
        """In how many texts each fingerprint hash occurs, the largest number first. Reads the whole index.

        Helps to choose a limit for `ignore_above`: the hashes of boilerplate occur in far more texts than
        others.

        >>> import docindex
        >>> with docindex.open(":memory:", recipe=docindex.Recipe(k=5, window=8)) as index:
        ...     index.add("a", "The Analytical Engine")
        ...     index.add("b", "The Analytical Engine weaves")
        ...     index.document_frequencies().tolist()
        [2, 2, 1]
        """
        with self._store.reading() as db:
            return lookup.document_frequencies(db)

    def execute(self, sql: str, bindings: UserBindings = ()) -> Rows:
        """Run one SQL statement that reads, and return its rows as tuples, with the names of the `columns`.

        The statement can use docindex's SQL functions and tables. `ReadOnly` for a statement that would
        write.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     index.add("ada.txt", "The Analytical Engine", meta={"by": "Ada"})
        ...     index.execute("select key, meta ->> 'by' as author, doc_canonical(id) from docindex_document")
        [('ada.txt', 'Ada', 'the analytical engine')]
        """
        with self._store.reading() as db:
            self._provide_functions(db)
            return user_sql.answer(db, sql, bindings)

    def _provide_functions(self, db: Connection) -> None:
        """Register docindex's SQL functions, which the host's statements and indexes may use."""
        if self._add_functions is not None and db not in self._with_functions:
            self._add_functions(db)
            self._with_functions.add(db)

    def stats(self) -> Stats:
        """Counts of documents, contents and fingerprints, and the sizes of the tables."""
        with self._store.reading() as db:
            return maintenance.stats(db, self.recipe)

    def check(self) -> list[str]:
        """All damage in the file, one sentence each; an empty list if the file is healthy.

        Reads the whole file: SQLite's own structures, every checksum and every text. Compares the inverted
        index with the fingerprints of the documents. In the database of an app, its tables are checked too,
        unless they use functions that only the app has.
        """
        before = self._store.cancels()
        with self._store.reading() as db:
            self._provide_functions(db)
            return check.findings(db, self.recipe, lambda: self._store.refuse_cancelled(before))

    def optimize(self) -> None:
        """Merge all segments, delete what removed documents left behind, and return unused disk space.

        Makes searches faster. Works in short commits and can be stopped at any time; the next call continues.
        In a file of more than 64 MB, and in the database of an app, pages that are partly full stay so;
        SQLite's `vacuum` fills them.
        """
        before = self._store.cancels()
        unfinished = True
        while unfinished:
            with self._store.writing(log_bytes=segment_writer.MERGE_LOG_BYTES) as db:
                unfinished = maintenance.merge_some(db)
            self._store.refuse_cancelled(before)
        maintenance.shrink(self._store)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the index as it is now into a new file. Others can read and write during the copy."""
        name = os.fsdecode(path)
        if name == MEMORY or Path(name).exists() or Path(name).is_symlink():
            raise FileExistsError(f"{name} already exists, or is not a file; name a new file")
        maintenance.backup(self._store, name)


def open_scope(
    index: Index, where: Where | None = None, *, boilerplate: BoilerplateChoice = True
) -> contextlib.AbstractContextManager[Scope]:
    """The scope of a question to an index, for other packages of `docindex`; `Scopes.open` explains it."""
    return index._scopes.open(where, boilerplate=boilerplate)  # noqa: SLF001 - hosts would see a public method
