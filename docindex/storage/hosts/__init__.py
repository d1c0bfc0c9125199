"""An index on a connection that belongs to the host program, of apsw or of Python's sqlite3."""
