"""The reading half of an index: what it can be asked. Must never contain SQL or arithmetic, nor write."""

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from docindex.errors import TextNotKept
from docindex.index.boilerplate import Boilerplate
from docindex.kernels.arrays import U64
from docindex.query import (
    argument_checks,
    clusters,
    compare,
    fingerprint_positions,
    near,
    pairs,
    search,
    similar,
)
from docindex.query.clusters import Cluster, Linkage
from docindex.query.compare import Comparison
from docindex.query.measures import Measures
from docindex.query.near import Neighbour
from docindex.query.pair_join import Method
from docindex.query.pairs import Pairs
from docindex.query.passages import Passage, align
from docindex.query.resolve import Id, Query, resolve
from docindex.query.search import Match, Rank, Wanted
from docindex.recipe import Recipe
from docindex.sketching.single_text import shingle_set
from docindex.storage import contents, documents, user_sql
from docindex.storage.connection import Connection, Transactions
from docindex.storage.documents import StoredSketch
from docindex.storage.user_sql import Where

_AT_A_TIME = 1000


class IndexReader:
    """What `docindex.Index` can be asked.

    A question is asked with the key of a document or with any other text: `docindex.Text`, `docindex.Key`
    and `docindex.Id` say which it is where that could be mistaken. The document whose key was given is
    among the answers, as it is when its text is given. `where` keeps to documents that fulfil an SQL
    condition on the table `document`, a string or ``(string, bindings)``.
    """

    def __init__(self, store: Transactions, recipe: Recipe) -> None:
        self._store = store
        self.recipe = recipe
        """The parameters the index was made with."""
        self.boilerplate = Boilerplate(store, recipe)
        """Texts that everybody has, which do not count."""

    def search(
        self,
        query: str | Id,
        *,
        window: int | None = None,
        budget: int | None = None,
        min_containment: float = 0.0,
        min_shared: int = 1,
        min_resemblance: float = 0.0,
        limit: int | None = 20,
        where: Where | None = None,
        rank: Rank = "rarity",
        ignore_above: int | None = None,
    ) -> list[Match]:
        """The documents that share fingerprints with a text or a document, best first.

        Best is who shares the rarest: a fingerprint that `n` texts have counts 1/n. ``rank="count"``
        or ``"containment"`` orders by how many are shared instead. With a larger `window` than the
        index has, or a `budget` of so many hashes, less is looked up, and small copies may be missed;
        the numbers of what is found stay exact. (Of a document whose text is not kept, all is looked up
        whatever the window.) What more than `ignore_above` texts have counts for nothing, as
        boilerplate does.
        """
        wanted = Wanted(
            window, budget, min_containment, min_shared, min_resemblance, limit, where, rank, ignore_above
        )
        wanted.check(self.recipe)
        with self._asked(where) as db:
            asking = resolve(db, query)
            ignored = self.boilerplate.ignored(db)
            return search.search(
                db, asking, self.recipe, ignored, wanted, self._source(asking), self._check_cancelled()
            )

    def similar(
        self, query: str | Id, min_resemblance: float = 0.8, *, where: Where | None = None
    ) -> list[Match]:
        """The documents whose shingles resemble those of a text or a document so much, most alike first.

        Exact where both texts are kept; else estimated by the slots of their sketches, which know no
        boilerplate. Looked at is who shares a fingerprint, or features: of texts so short that
        they may share shingles and no run of the recipe's guarantee, some are missed.
        """
        argument_checks.share("min_resemblance", min_resemblance, above_zero=True)
        with self._asked(where) as db:
            asking = resolve(db, query)
            ignored = self.boilerplate.ignored(db)
            return similar.similar(
                db,
                asking,
                self.recipe,
                ignored,
                min_resemblance,
                where,
                self._source(asking),
                self._check_cancelled(),
            )

    def near(self, query: str | int, distance: int = 3, *, where: Where | None = None) -> list[Neighbour]:
        """The documents whose simhash differs in at most so many bits: none is missed, the nearest first.

        A number asks with the simhash that it is.
        """
        return self.near_many([query], distance, where=where)[0]

    def near_many(
        self, queries: Iterable[str | int], distance: int = 3, *, where: Where | None = None
    ) -> list[list[Neighbour]]:
        """What `near` gives for each of many texts, keys or simhash values, at a much lower price."""
        argument_checks.whole("distance", distance, least=0, most=63)
        if isinstance(queries, (str, bytes)):
            raise TypeError("near_many asks with many texts, keys or numbers, not with one; see near")
        asking = list(queries)  # now, for it may be of anybody's making
        with self._asked(where) as db:
            return near.near_many(db, asking, self.recipe, distance, where, self._check_cancelled())

    def pairs(
        self,
        *,
        min_resemblance: float | None = None,
        min_containment: float | None = None,
        where: Where | None = None,
        ignore_above: int | None = None,
        method: Method = "fingerprints",
    ) -> Pairs:
        """All pairs of documents of so much resemblance, or of which one contains so much of the other.

        None is missed, and their numbers are exact, by fingerprints. ``method="sketches"`` or
        ``"features"`` estimate from the slots, for pairs that share slots or features. What more than
        `ignore_above` texts have counts for nothing; `set_aside` of the answer says how many hashes.
        Slots know no boilerplate.
        """
        return pairs.pairs(
            self._store,
            self.recipe,
            min_resemblance=min_resemblance,
            min_containment=min_containment,
            ignore_above=ignore_above,
            method=method,
            **self._among(where),
        )

    def containments(
        self,
        min_containment: float = 0.8,
        *,
        where: Where | None = None,
        ignore_above: int | None = None,
        method: Method = "fingerprints",
    ) -> Pairs:
        """Who is inside whom: pairs of which `a` is contained in `b` by so much or more.

        The other arguments are those of `pairs`.
        """
        return pairs.containments(
            self._store,
            self.recipe,
            min_containment,
            ignore_above=ignore_above,
            method=method,
            **self._among(where),
        )

    def clusters(
        self,
        min_resemblance: float = 0.8,
        *,
        linkage: Linkage = "connected",
        where: Where | None = None,
        ignore_above: int | None = None,
        method: Method = "fingerprints",
    ) -> list[Cluster]:
        """Groups of documents that belong together, the largest first; each member says why it is there.

        "connected": whom such pairs connect, over however many others. "greedy": each is such a pair with
        the leader of its group. "complete": each is one with every other.
        """
        return clusters.clusters(
            self._store,
            self.recipe,
            min_resemblance,
            linkage=linkage,
            ignore_above=ignore_above,
            method=method,
            **self._among(where),
        )

    def compare(self, a: str | Id, b: str | Id) -> Comparison:
        """What two texts or documents have in common.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     found = index.compare("to be or not to be", "To be or not to be, that is the question")
        >>> found.containment, round(found.reverse_containment, 2), found.exact
        (1.0, 0.33, True)
        """
        with self._store.reading() as db:
            return compare.compare(
                db, resolve(db, a), resolve(db, b), self.recipe, self.boilerplate.ignored(db)
            )

    def measures(self, a: str | Id, b: str | Id) -> Measures:
        """The numbers that `compare` gives, without looking for passages: several times as fast.

        >>> import docindex
        >>> with docindex.open(":memory:") as index:
        ...     round(index.measures("to be or not to be", "To be or not to be, said he").containment, 2)
        1.0
        """
        with self._store.reading() as db:
            return compare.measured(
                db, resolve(db, a), resolve(db, b), self.recipe, self.boilerplate.ignored(db)
            )

    def shingles(self, query: str | Id) -> U64:
        """The different shingles of a text or a document that count, as ascending hashes."""
        with self._store.reading() as db:
            text = self._kept(db, resolve(db, query))
            return self.boilerplate.ignored(db).shingles_without(shingle_set(text, self.recipe))

    def stored_sketch(self, query: str | Id) -> StoredSketch:
        """The sketch of a text or a document without its fingerprints: slots, simhash, sizes."""
        with self._store.reading() as db:
            return resolve(db, query).stored_sketch(db, self.recipe)

    def whole_text(self, query: str | Id) -> str:
        """The text that is asked with; `TextNotKept` for a document whose text is not there."""
        with self._store.reading() as db:
            return self._kept(db, resolve(db, query))

    def fingerprint_positions(
        self, *, document: int | None = None, hash_: int | None = None
    ) -> Iterator[fingerprint_positions.FingerprintPosition]:
        """Where fingerprints lie: document, position, hash; of one document, or of one hash, or of all."""
        if document is None and hash_ is None:
            for number in self._documents():
                yield from self.fingerprint_positions(document=number)
            return
        # All of one document or hash at a time: nobody should wait for whoever goes through them.
        with self._store.reading() as db:
            if document is None:
                found = fingerprint_positions.of_hash(db, hash_ or 0, self.recipe)
            else:
                found = fingerprint_positions.in_document(db, document, self.recipe)
        yield from (place for place in found if hash_ is None or place[2] == hash_)

    def _documents(self) -> Iterator[int]:
        """The ids of all documents, some at a time."""
        last = 0
        while True:
            with self._store.reading() as db:
                some = documents.listed(db, last, _AT_A_TIME)
            if not some:
                return
            yield from (document.id for document in some)
            last = some[-1].id

    def approximate_counts(self) -> tuple[int, int]:
        """About how many documents there are, and how many fingerprints; costs next to nothing."""
        with self._store.reading() as db:
            return fingerprint_positions.approximate_counts(db)

    def _among(self, where: Where | None) -> dict[str, Any]:
        """What questions about all documents need to know: which those are, and what does not count."""
        with self._asked(where) as db:
            chosen = None if where is None else documents.contents_of(db, where)
            ignored = self.boilerplate.ignored(db).hashes
        return {
            "chosen": chosen,
            "ignored": ignored,
            "documents": functools.partial(documents.documents_of, where=where),
            "check_cancelled": self._check_cancelled(),
        }

    @contextlib.contextmanager
    def _asked(self, where: Where | None) -> Iterator[Connection]:
        """A connection to ask on, once the condition is known to work."""
        with self._store.reading() as db:
            if where is not None:
                user_sql.checked_condition(db, where)
            yield db

    def _check_cancelled(self) -> Callable[[], None]:
        """Raises `Cancelled` once there was a `cancel`."""
        return functools.partial(self._store.refuse_cancelled, self._store.cancels())

    def _source(self, asking: Query) -> Callable[[int], list[Passage]]:
        """Finds the passages that the text asked with shares with a content."""

        def passages_with(content: int) -> list[Passage]:
            with self._store.reading() as db:
                own = self._kept(db, asking)
                return align(own, self._kept(db, Query(None, content)), self.recipe).passages

        return passages_with

    def _kept(self, db: Connection, query: Query) -> str:
        """A text, or an error where it is not there."""
        there = query.content is None or contents.is_there(db, query.content)
        text = query.text(db) if there else None
        if text is None:
            raise TextNotKept(
                "passages need both texts, and one is not kept, or was removed; add it with store_text=True",
                self._store.path,
            )
        return text
