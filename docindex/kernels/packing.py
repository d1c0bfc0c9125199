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
    # Eight bytes are read at each place, then strangers cut off: a tenth of the time of copying ours alone.
    overlapping = np.ndarray(len(data) // width, "<u8", data + bytes(8 - width), strides=(width,))
    mask = (1 << 8 * width) - 1
    return overlapping.astype(np.uint64, copy=False) & np.uint64(mask)
