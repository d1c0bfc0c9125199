"""Find copies among files: exact copies, copied folders, and texts that are alike."""
