"""``python -m hulltune`` is the command ``hulltune``."""

from __future__ import annotations

import sys

from hulltune.cli import main

if __name__ == "__main__":
    sys.exit(main())
