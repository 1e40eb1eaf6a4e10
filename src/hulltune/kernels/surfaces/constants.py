"""Numbers of rough losses and of steps that Python and kernels share. No kernels here: importing it costs nothing."""

UNKNOWN, BLEU, RATIO = range(3)
"""No rough loss; BLEU's statistics; a ratio of linear functions of the statistics."""
SLACK = 1e-9
"""The share of a rough value within which another may have a smaller exact loss; roundings are a few 1e-16."""
LEAST = 1e-3
"""The value beside which differences near 0 are judged: a loss like 1 − matches / links loses digits there."""
RESOLUTION = 2.0**-40
"""Intervals narrower than this, relative to their place on the line (or to ``scale`` near 0), are not entered: the
weights that a step leads to are rounded to doubles, and decoding with them may see what lies beside the interval.
"""
FARTHEST = 2.0**1020
"""The largest step: differences of two such points are still finite."""
TINY_STEP = 2.0**-30
"""The least step beyond the last breakpoint, relative to it, so that rounding does not swallow the step."""
MIDDLE, CLOSEST, WIDEST = range(3)
"""The policies of steps; see search.steps.Policy."""
INNER = 2.0**-6
"""The share of an interval by which a step towards its end stays inside, where a penalty pulls to the end."""
LEAST_GAIN = 0.01
"""The share of its penalty that a step must gain at least: otherwise climbs would creep."""
