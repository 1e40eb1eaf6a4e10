"""Figures of other programs that no benchmark here can run: each with its conditions, and the day it was measured.

They were measured apart: on one core of a machine of this kind, in user CPU time, on inputs of the sizes given. They
tell an order of magnitude. Wherever one is shown, ``MEASURED_APART`` stands beside it.
"""

from __future__ import annotations

Shape = tuple[int, int, int]
"""Sentences, hypotheses a sentence, features."""

DATE = "2026-11-15"
MEASURED_APART = f"measured apart, on {DATE}, on another day's machine"

LINE_SEARCHES: dict[str, dict[Shape, float]] = {
    "Moses": {(1000, 100, 14): 65.0, (1000, 1000, 14): 6.4, (100, 100, 15): 930.0},
    "Z-MERT": {(1000, 100, 14): 51.0, (1000, 1000, 14): 11.0},
}
"""Line searches a second over made-up lists, after the extraction of statistics."""

WHOLE_RUNS = {"Moses": 51.5, "Z-MERT": 74.0}
"""Seconds from text to weights by Och's search from twenty starts, on 1,000 × 100 made-up lists with 14 features; of
Moses' ``mert``, 1.5 s extract statistics and 50 s search.
"""

FORESTS = {
    "ru_en lattices": "cdec's hull semiring 420, 570 with outputs and BLEU",
    "CKY, 10k": "cdec 18,800 (88 segments); ucam-smt's lmert 3,000–45,000",
    "lattice, 10k": "cdec 3,700 (44 segments)",
    "CKY, 1k": "cdec 4,500 (40 segments)",
    "lattice, 1k": "cdec 2,500 (32 segments)",
}
"""Nanoseconds an edge of an envelope (without outputs, statistics and surface, unless they are named) over forests of
the same shapes; the number of segments where it is known.
"""
