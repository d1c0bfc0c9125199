"""Answer questions about the documents of an index: find candidates, measure them, locate passages."""

# From the bottom up: defaults, measures, slot_index, scope, resolve, estimates, near, regions, compare,
# search, similar, sources, pairs, clusters.
