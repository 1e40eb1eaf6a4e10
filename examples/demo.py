"""Tune a simulated reranking task whose best weights are known; print the summary and draw the error surface.

Run: python examples/demo.py [FOLDER]
"""

from __future__ import annotations

import sys

from hulltune.cli import main

if __name__ == "__main__":
    sys.exit(main(["demo", "--out", sys.argv[1] if len(sys.argv) > 1 else "out"]))
