"""Plugins for other programs, which find them by entry points: one module for each program."""
