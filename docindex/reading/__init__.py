"""Readings: reduce texts to the symbols, words and lines that an index compares.

A recipe names its reading; `docindex.reading.registry` returns the object for that name, and
`docindex.reading.protocol` says what such an object can do.
"""

# From the bottom up: protocol, symbol_bytes, unicode_table, slicing, sentences, code_points, byte_stream,
# plain_text, code, registry.
