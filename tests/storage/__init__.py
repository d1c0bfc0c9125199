"""Tests of the index file: opening, changing, migrating and damaging it."""
