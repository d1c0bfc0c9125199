"""One file: its connections, locks, log, transactions, errors, upgrades and checks."""
