"""The index as a Python object: its reading half, its writing half, and functions on two texts."""
