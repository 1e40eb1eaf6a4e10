"""Kernels that draw the lines to search, and bound them."""
