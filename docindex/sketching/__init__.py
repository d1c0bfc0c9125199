"""Sketching: texts and a recipe in, the sketches that an index stores out."""
