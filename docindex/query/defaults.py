"""The thresholds and limits of questions, where the caller gives none: the same in Python, SQL and commands.

How far `near` looks is in `near`, and how short a passage may be is in `passages`: there stand their reasons.
"""

MATCHES = 20
"""The number of answers of a search: as many as a person reads, the best first."""

SAME_WORK = 0.8
"""The minimum resemblance of similar documents and clusters, and the minimum containment of containments.

Two versions of one text are above it, and texts that only quote the same things are below it.
"""

PAIR_RESEMBLANCE = 0.5
"""The minimum resemblance of pairs.

A list of pairs is read from its best end, so it may go further than a cluster, in which one wrong link joins
two groups.
"""
