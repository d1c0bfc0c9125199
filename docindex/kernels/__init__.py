"""Arrays in, arrays out: the arithmetic of docindex, in numpy alone.

A kernel keeps no state, does no I/O and never loops over characters, k-grams,
words or fingerprints in Python. Every kernel takes a *batch*: documents laid end
to end in one array, with `starts`, one entry longer than the batch, so that
document d is ``array[starts[d]:starts[d + 1]]``.
"""
