"""Kernels for study: only the tests and the comparisons with papers use them. An index needs none of them."""
