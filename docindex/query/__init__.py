"""Questions about what is stored: candidates by the inverted index, counts, borders in the texts."""
