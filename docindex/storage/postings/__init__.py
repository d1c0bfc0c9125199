"""The inverted index, the index of simhashes, and the bytes of fingerprints."""
