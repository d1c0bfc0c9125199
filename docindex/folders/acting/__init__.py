"""Act on a plan without losing a file, and undo it: removal, journal, trash, and guards against writers."""
