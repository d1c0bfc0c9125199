"""Decide which copies stay: rules, a plan as a file, and its review."""
