"""Remember numbers under keys in a table of a fixed size, where a new key may take the place of an older one.

In: keys of 48 bits, and numbers of 32 bits above 0. Out: the numbers of some keys, or 0 for those that are
not known. Must never give the number of another key.
"""

from typing import Final

import numpy as np

from docindex.kernels.arrays import I64, U64

PLACE_BITS: Final = 16
"""A table has 2^16 places of 8 bytes."""

_PLACES = np.uint64((1 << PLACE_BITS) - 1)
_PLACE_BITS = np.uint64(PLACE_BITS)
_HALF = np.uint64(32)
_LOW = np.uint64((1 << 32) - 1)


class NumberTable:
    """Numbers under keys. Threads may share a table.

    The low bits of a key say where its entry is. An entry is one word: the other 32 bits of the key, then the
    number. So a thread that reads an entry while another thread writes it finds one of two true entries.

    >>> table = NumberTable()
    >>> table.put(np.array([7, 1 << 40], np.uint64), np.array([3, 5]))
    >>> table.get(np.array([7, 8, 1 << 40], np.uint64)).tolist()
    [3, 0, 5]
    """

    def __init__(self) -> None:
        self._entries = np.zeros(1 << PLACE_BITS, np.uint64)

    def get(self, keys: U64) -> I64:
        """The number of each key; 0 if it is not known."""
        entries = self._entries.take((keys & _PLACES).view(np.int64))
        numbers = entries & _LOW
        entries >>= _HALF
        numbers *= entries == keys >> _PLACE_BITS
        return numbers.view(np.int64)

    def put(self, keys: U64, numbers: I64) -> None:
        """Remember the numbers of some keys."""
        entries = keys >> _PLACE_BITS << _HALF
        entries |= numbers.view(np.uint64)
        self._entries[(keys & _PLACES).view(np.int64)] = entries
