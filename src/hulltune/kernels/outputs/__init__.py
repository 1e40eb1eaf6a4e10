"""Kernels that tell outputs apart and make their texts."""
