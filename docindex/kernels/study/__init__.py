"""Kernels for study: only the tests and the comparisons with papers use them. An index does not need them."""
