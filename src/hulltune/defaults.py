"""Default amounts of work of a search: one place for the functions, the command line and its help.

The help of a command is shown without numpy, so these numbers stand apart from the options that they belong to.
"""

RESTARTS = 39
"""Climbs in addition to the one from the start weights."""
DIRECTIONS = 16
"""Lines that one round of a climb searches."""
GAP = 0.001
"""The gap between value and bound at which a certified search may end, in the unit of the metric."""
BEAM = 6
"""Items that the built-in decoder keeps for each category and span."""
