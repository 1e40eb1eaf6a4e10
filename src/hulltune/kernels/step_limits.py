"""How near to a breakpoint, and how far away, a line search may step. No kernels here, so that importing it is free."""

RESOLUTION = 2.0**-40
"""Intervals narrower than this, relative to their place on the line (or to ``scale`` near 0), are not entered: the
weights that a step leads to are rounded to doubles, and decoding with them may see what lies beside the interval.
"""
FARTHEST = 2.0**1020
"""How far a step may go: differences of two such points are still finite."""
TINY_STEP = 2.0**-30
"""Of the last breakpoint: the least step beyond it, so that rounding does not swallow it."""
