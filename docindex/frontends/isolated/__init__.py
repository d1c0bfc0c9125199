"""Extract texts in a process of its own, within limits of memory, time and output."""
