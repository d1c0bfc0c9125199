"""Plugins for other programs: one module for each program, which finds it by its entry point."""
