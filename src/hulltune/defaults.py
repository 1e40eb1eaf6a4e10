"""Default amounts of work of a search: one place for the functions, the command line and its help.

The help of a command is shown without numpy, so these numbers stand apart from the options that they belong to.
"""

DEFAULT_SEARCH = "cma"
"""The strategy of a search."""
RESTARTS = 39
"""Climbs in addition to the one from the start weights."""
EVOLUTIONS = 4
"""Searches by evolution in addition to the one from the start weights; each takes as long as a dozen climbs."""
DIRECTIONS = 16
"""Lines that one round of a climb searches."""
GAP = 0.001
"""The gap between value and bound at which a certified search may end, in the unit of the metric."""
MOST_RESTARTS = 100_000
MOST_DIRECTIONS = 10_000
MOST_THREADS = 1_024
MOST_BEST = 10_000_000
MOST_RUNS = 10_000
MOST_MADE = 1_000_000
"""What is refused at once, because it would end in the memory or in years: more restarts, directions of a round,
threads, derivations of a sentence, runs (replicates, iterations) and made-up sentences or candidates than these.
"""
MEGABYTES = 1.5
"""The largest size of a report."""
