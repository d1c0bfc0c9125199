"""Use an index from Python: cancel, read, change and name documents; results as plain data."""
