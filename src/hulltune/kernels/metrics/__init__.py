"""Kernels of metrics: tokens, n-grams, edits, and losses of summed statistics."""
