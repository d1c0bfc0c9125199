"""Write slots as the bytes that the table `content` holds, and read the slots of many contents at once.

Takes and returns arrays. A slot has 24 bits. First come the low 16 bits of all slots of a content, 2 bytes
each, then the high 8 bits, 1 byte each: so numpy needs two calls for many contents, and no work for each
slot. Must never know what a slot means.
"""

from collections.abc import Sequence

import numpy as np

from docindex.kernels.arrays import U32

SLOT_BYTES = 3


def slot_bytes(slots: U32) -> bytes:
    r"""The slots of some contents as bytes, end to end: an array with a row for each content.

    >>> slot_bytes(np.array([[0x010203, 4], [5, 6]], np.uint32))
    b'\x03\x02\x04\x00\x01\x00\x05\x00\x06\x00\x00\x00'
    """
    low = slots.astype("<u2").view(np.uint8)
    return np.concatenate([low, (slots >> np.uint32(16)).astype(np.uint8)], axis=1).tobytes()


def slots_in(rows: Sequence[bytes], count: int) -> U32 | None:
    """The slots in the bytes of some contents, one row for each; None if one does not have `count` slots.

    >>> slots_in([slot_bytes(np.array([[1 << 23, 7]], np.uint32))], 2).tolist()
    [[8388608, 7]]
    """
    if not set(map(len, rows)) <= {SLOT_BYTES * count}:
        return None
    octets = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, SLOT_BYTES * count)
    slots: U32 = octets[:, 2 * count :].astype(np.uint32)
    slots <<= np.uint32(16)
    slots |= np.ascontiguousarray(octets[:, : 2 * count]).view("<u2")
    return slots
