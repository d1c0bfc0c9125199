"""Write slots as the bytes that the table `content` holds, and read the slots of many contents at once.

Takes and returns arrays. A slot has 12 bits. First come the low 8 bits of all slots of a content, a byte
each; then the high 4 bits of two slots in each byte. A byte holds a slot of the first half and one of the
second half, not two neighbours: so numpy works on whole rows. Must never know what a slot means.
"""

from collections.abc import Sequence

import numpy as np

from docindex.arrays.ranges import U16

_LOW = np.uint16(0xFF)
_HIGH = np.uint16(0xF00)


def bytes_of_slots(count: int) -> int:
    """How many bytes this many slots take.

    >>> bytes_of_slots(128), bytes_of_slots(3)
    (192, 5)
    """
    return count + (count + 1) // 2


def slot_bytes(slots: U16) -> bytes:
    r"""The slots of some contents as bytes, end to end: an array with a row for each content.

    >>> slot_bytes(np.array([[0x102, 0x304, 0x506], [7, 8, 9]], np.uint16))
    b'\x02\x04\x06Q\x03\x07\x08\t\x00\x00'
    """
    count = slots.shape[1]
    half = (count + 1) // 2
    high = (slots[:, :half] >> np.uint16(8)).astype(np.uint8)
    high[:, : count - half] |= (slots[:, half:] >> np.uint16(4) & np.uint16(0xF0)).astype(np.uint8)
    return np.concatenate([(slots & _LOW).astype(np.uint8), high], axis=1).tobytes()


def slots_in(rows: Sequence[bytes], count: int) -> U16 | None:
    """The slots in the bytes of some contents, one row for each; None if one does not have `count` slots.

    >>> slots_in([slot_bytes(np.array([[1 << 11, 7]], np.uint16))], 2).tolist()
    [[2048, 7]]
    """
    size = bytes_of_slots(count)
    if not set(map(len, rows)) <= {size}:
        return None
    octets = np.frombuffer(b"".join(rows), np.uint8).reshape(-1, size)
    half = size - count
    high = octets[:, count:].astype(np.uint16)
    slots: U16 = octets[:, :count].astype(np.uint16)
    slots[:, :half] |= high << np.uint16(8) & _HIGH
    slots[:, half:] |= (high << np.uint16(4) & _HIGH)[:, : count - half]
    return slots
