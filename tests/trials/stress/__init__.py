"""Use one file from many processes and threads at the same time."""
