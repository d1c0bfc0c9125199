"""Sketching: compute what an index stores of each text, in batches, slice by slice, or in worker processes.

In: texts and a recipe. Out: sketches and compressed texts. Must never know how or where they are stored.
"""
