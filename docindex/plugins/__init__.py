"""Plugins for other programs: one module or package for each program, which finds it by its entry point."""
