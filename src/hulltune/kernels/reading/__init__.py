"""Kernels that read lists and lattices."""
