"""Numbers in few bytes: the low bytes of each, little-endian on every machine.

Must never lose what the caller did not mean to leave out: how many bytes are enough is its business.
"""

import numpy as np

from docindex.kernels.arrays import U64


def packed(numbers: U64, width: int) -> bytes:
    r"""The low bytes of each number, so many of them.

    >>> packed(np.array([1, 256], np.uint64), 2)
    b'\x01\x00\x00\x01'
    """
    octets = numbers.astype("<u8", copy=False).view(np.uint8).reshape(-1, 8)
    return octets[:, :width].tobytes()


def unpacked(data: bytes, width: int) -> U64:
    r"""What `packed` was given; the length must be a multiple of the width.

    >>> unpacked(b"\x01\x00\x00\x01", 2).tolist()
    [1, 256]
    """
    octets = np.zeros((len(data) // width, 8), np.uint8)
    octets[:, :width] = np.frombuffer(data, np.uint8).reshape(-1, width)
    return octets.view("<u8").reshape(-1).astype(np.uint64, copy=False)
