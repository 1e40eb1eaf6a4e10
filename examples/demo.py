"""Run the whole loop with the built-in decoder: scores before and after, and the error surface.

Run: python examples/demo.py [FOLDER]
"""

from __future__ import annotations

import sys

from hulltune.cli import main

if __name__ == "__main__":
    sys.exit(main(["demo", "--out", sys.argv[1] if len(sys.argv) > 1 else "out"]))
