"""Answer questions about the documents of an index: find candidates, measure them, locate passages."""
