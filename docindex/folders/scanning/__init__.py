"""Bring an index up to date with folders."""
