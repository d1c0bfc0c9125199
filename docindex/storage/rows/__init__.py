"""The rows of each table: one module reads and writes them, and knows their SQL."""
