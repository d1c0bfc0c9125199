"""Let the C library of Linux keep the memory that sketching allocates again and again.

glibc returns freed memory to the system if it is more than twice as large as the largest block that was ever
mapped and freed. Sketching allocates and frees some 30 MB for each batch, and the system fills each new page
with zeros: a third of the time of sketching. One block that is allocated and freed without being touched
costs nothing and raises the limit to 64 MB. Other C libraries ignore it.
"""

import functools

import numpy as np

_LARGEST = (32 << 20) - (1 << 16)
"""glibc ignores blocks of more than 32 MB."""


@functools.cache
def keep_memory() -> None:
    """Raise the limit, once in a process."""
    block = np.empty(_LARGEST, np.uint8)
    del block
