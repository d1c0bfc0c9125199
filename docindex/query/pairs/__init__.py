"""Find all pairs of texts that reach a threshold: groups of texts, one join, and one verification."""
