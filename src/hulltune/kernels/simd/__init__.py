"""Sixteen doubles as one value."""
