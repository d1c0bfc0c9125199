"""Decide which copies stay: rules, and a plan as a file."""
