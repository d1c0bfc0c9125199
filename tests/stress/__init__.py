"""Many processes and threads on one file at once."""
