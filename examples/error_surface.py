"""Draw the lines, upper envelope and error surface of four candidates: three win somewhere, one is obscured.

Run: python examples/error_surface.py [FILE.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from hulltune import ErrorSurface
from hulltune.report.figure_data import four_candidates, surface_steps, view_around
from hulltune.report.teaching import envelope_figure

ERRORS = {"y1": 3, "y2": 1, "y3": 0, "y4": 2}  # of each candidate, against a reference


def main(path: Path) -> Path:
    found, lines = four_candidates()
    errors = np.array([[ERRORS[lines.names[winner]]] for winner in lines.winners])
    surface = ErrorSurface.from_sentences([found.breakpoints], [errors])
    losses = surface.losses(lambda statistics: statistics[:, 0].astype(float))
    steps = surface_steps(surface, losses, view_around(lines.breakpoints))
    path.parent.mkdir(parents=True, exist_ok=True)
    return envelope_figure(lines, steps, loss_label="errors").save(path)


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/error_surface.png")))
