"""Readings of source code: one symbol for each token, without comments, in any of the languages it knows."""
