"""Ask an index which of its documents resemble each other: pairs, containments, clusters.

Checks the arguments of a question, and passes them with a scope to `docindex.query`. Must never contain SQL
or arithmetic, and must never write.
"""

import functools
from typing import get_args

from docindex import arguments
from docindex.index.boilerplate import BoilerplateChoice
from docindex.index.scopes import ScopedReader, open_scope
from docindex.query.clusters import Clusters, Linkage, find_clusters
from docindex.query.defaults import SAME_WORK
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
from docindex.storage.file.user_sql import Where


class PairsReader(ScopedReader):
    """The questions of `docindex.Index` that compare all documents with each other."""

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
        find = find_pairs if between is None else find_pairs_between
        sides = _two_conditions(between, where)
        opener = functools.partial(open_scope, self, where, boilerplate=boilerplate, between=sides)
        return find(opener, threshold, options)

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
        return find_containments(
            functools.partial(open_scope, self, where, boilerplate=boilerplate),
            threshold,
            arguments.limit(limit),
        )

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
        with open_scope(self, where, boilerplate=boilerplate) as scope:
            return find_clusters(scope, threshold, linkage)


def _two_conditions(between: object, where: object) -> tuple[Where, Where] | None:
    """The value of `between`; `TypeError` or `ValueError` if it is wrong, or if `where` is given too."""
    if between is None:
        return None
    if where is not None:
        raise ValueError(
            "where and between cannot be used together; write the condition into both of between"
        )
    match between:
        case [str() | tuple() as first, str() | tuple() as second]:
            return first, second
    raise TypeError(f"between must be two conditions on document, not {arguments.shown(between)}")
