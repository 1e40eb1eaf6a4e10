"""How much work a search does where nobody says: one place for the functions, the command line and its help.

The help of a command is shown without numpy, so this stands apart from the options that it is for.
"""

RESTARTS = 39
"""Climbs beside that from the start."""
DIRECTIONS = 16
"""Lines that a round of a climb searches."""
GAP = 0.001
"""Where a certified search may end: value and bound this close, in the unit of the metric."""
BEAM = 6
"""Items of a category and span that the built-in decoder keeps."""
