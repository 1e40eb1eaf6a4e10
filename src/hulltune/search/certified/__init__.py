"""Certified global search: best-first branch and bound over boxes of weights, with a bound that is a proof."""
