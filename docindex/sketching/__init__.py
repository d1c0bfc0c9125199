"""Texts and a recipe in, sketches out: in batches, in slices of long texts, and in worker processes."""
