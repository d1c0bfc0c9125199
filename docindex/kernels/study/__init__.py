"""Kernels that only the papers' comparisons and the tests use. An index needs none of them."""
