"""The file: what it promises, and what happens when it is damaged."""
