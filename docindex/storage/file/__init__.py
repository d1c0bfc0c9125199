"""One file: its connections, locks, log, transactions and errors."""
