"""Kernels of the certified search: the candidates that can win in a box of weights, and bounds of their choices."""
