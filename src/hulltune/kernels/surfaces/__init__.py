"""Kernels from changes along a line to the next step."""
