"""Kernels that decide ties by exact arithmetic."""
