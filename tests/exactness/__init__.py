"""Comparison of envelopes with exact arithmetic in bulk (``make exactness``); tests/test_exactness.py is a slice."""
