"""The arithmetic of docindex: functions that take numpy arrays and return numpy arrays.

A kernel keeps no state, does no I/O, and never loops over characters, k-grams, words or fingerprints in
Python. Many kernels take a *batch*: an array of documents laid end to end, and an array `starts` that has
one entry more than there are documents. Document d is ``array[starts[d]:starts[d + 1]]``.
"""
