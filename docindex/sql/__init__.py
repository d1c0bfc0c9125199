"""The same questions from SQL: functions and tables for connections of apsw and of Python's own sqlite3."""
