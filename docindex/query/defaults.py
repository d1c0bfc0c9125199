"""The thresholds of questions, where the caller gives none: the same in Python, SQL and commands.

Must never import numpy, because a search for exact copies takes no longer than that import.
"""

SAME_WORK = 0.8
"""The minimum resemblance of similar documents and clusters, and the minimum containment of containments.

Two versions of one text are above it, and texts that only quote the same things are below it.
"""

PAIR_RESEMBLANCE = 0.5
"""The minimum resemblance of pairs.

A list of pairs is read from its best end, so it may go further than a cluster, in which one wrong link joins
two groups.
"""
