"""``python -m hulltune`` is the command ``hulltune``."""

from __future__ import annotations

from hulltune.cli.main import entry_point

if __name__ == "__main__":
    entry_point()
