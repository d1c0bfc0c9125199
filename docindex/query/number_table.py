"""Remember numbers under keys in a table of a fixed size, where a new key may take the place of an older one.

In: keys of 48 bits, and numbers above 0. Out: the numbers of some keys, or 0 for those that are not known.
Must never give the number of another key.
"""

import numpy as np

from docindex.kernels.arrays import I64, U64

_KEY_BITS = 48


class NumberTable:
    """Numbers under keys. Threads may share a table.

    The low bits of a key say where its entry is. An entry is one word: the other bits of the key, then the
    number. So a thread that reads an entry while another thread writes it finds one of two true entries.

    >>> table = NumberTable(16)
    >>> table.put(np.array([7, 1 << 40], np.uint64), np.array([3, 5]))
    >>> table.get(np.array([7, 8, 1 << 40], np.uint64)).tolist()
    [3, 0, 5]
    """

    def __init__(self, place_bits: int) -> None:
        """The table has 2^place_bits entries. Numbers of more than place_bits + 16 bits are forgotten."""
        self._entries = np.zeros(1 << place_bits, np.uint64)
        self._places = np.uint64((1 << place_bits) - 1)
        self._place_bits = np.uint64(place_bits)
        self._number_bits = np.uint64(64 - _KEY_BITS + place_bits)
        self._numbers = (np.uint64(1) << self._number_bits) - np.uint64(1)

    def get(self, keys: U64) -> I64:
        """The number of each key; 0 if it is not known."""
        entries = self._entries.take((keys & self._places).view(np.int64))
        numbers = entries & self._numbers
        entries >>= self._number_bits
        numbers *= entries == keys >> self._place_bits
        return numbers.view(np.int64)

    def put(self, keys: U64, numbers: I64) -> None:
        """Remember the numbers of some keys."""
        entries = keys >> self._place_bits << self._number_bits
        entries |= numbers.view(np.uint64) * (numbers.view(np.uint64) <= self._numbers)
        self._entries[(keys & self._places).view(np.int64)] = entries
