"""Draw the primal lines beside the dual points with their lower hull.

Run: python examples/duality.py [FILE.png]
"""

from __future__ import annotations

import sys
from pathlib import Path

from hulltune.report.figure_data import four_candidates
from hulltune.report.teaching import duality_figure


def main(path: Path) -> Path:
    _, lines = four_candidates()
    path.parent.mkdir(parents=True, exist_ok=True)
    return duality_figure(lines).save(path)


if __name__ == "__main__":
    print(main(Path(sys.argv[1] if len(sys.argv) > 1 else "out/duality.png")))
