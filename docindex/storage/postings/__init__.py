"""The inverted index, the forward index and the index of simhashes: their bytes, and how they are read."""
