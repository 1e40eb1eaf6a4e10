"""The command line: one file per command. Slow imports wait until a command needs them."""

from hulltune.cli.main import main

__all__ = ["main"]
