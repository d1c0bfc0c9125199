"""Helpers for numpy that every package may use: ranges, groups, joins of pairs, and packed numbers.

Arrays in, arrays out. Must never know what the numbers mean.
"""
