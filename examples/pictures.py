"""Draw the pictures of docs/plots.md: surfaces around tuned weights, and the theory step by step.

Run: python examples/pictures.py [FOLDER]
"""

from __future__ import annotations

import sys
from pathlib import Path

import hulltune
from hulltune.semirings import Hull
from hulltune.simulate import simulated_task

A = Hull.from_lines([(-1.0, 1.2), (-0.25, 2.0), (1.0, 1.1)])
B = Hull.from_lines([(-0.6, 0.2), (0.2, 0.5), (1.4, -0.3)])


def lattice() -> hulltune.Forest:
    """Two ways to begin and three to end."""
    arcs = [
        (0, 1, "recognise", [-2.0, -1.0]),
        (0, 1, "wreck a nice", [-1.0, -3.0]),
        (1, 2, "speech", [-1.0, -1.0]),
        (1, 2, "peach", [-0.5, -2.5]),
        (1, 2, "beach", [-0.4, -2.0]),
    ]
    return hulltune.Forest.from_lattice(arcs, start=0, finals=[2], feature_names=["am", "lm"])


def main(folder: Path) -> list[Path]:
    folder.mkdir(parents=True, exist_ok=True)
    task = simulated_task(sentences=60, candidates=20, seed=1)
    result = hulltune.tune(task.lists, metric="wer", tolerance=0.005)
    first = next(iter(result.weights))
    pictures = {
        "surface": result.plot_surface(first),
        "sensitivity": result.plot_sensitivity(),
        "envelope": hulltune.plot_envelope(lattice(), {"am": 1.0}, {"lm": 1.0}),
        "plus": hulltune.plot_plus(A, B),
        "times": hulltune.plot_times(A, B),
        "inside": hulltune.plot_inside(lattice(), {"am": 1.0}, {"lm": 1.0}),
    }
    return [picture.save(folder / f"{name}.png", dpi=80) for name, picture in pictures.items()]


if __name__ == "__main__":
    for path in main(Path(sys.argv[1] if len(sys.argv) > 1 else "out")):
        print(path)
