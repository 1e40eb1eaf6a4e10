"""Kinds of rough losses. There are no kernels here, so that importing it costs nothing."""

UNKNOWN, BLEU, RATIO = range(3)
"""No rough loss; BLEU's statistics; a ratio of linear functions of the statistics."""
SLACK = 1e-9
"""The share of a rough value within which another may have a smaller exact loss; roundings are a few 1e-16."""
LEAST = 1e-3
"""The value beside which differences near 0 are judged: a loss like 1 − matches / links loses digits there."""
