"""The command line: one file per command. Nothing heavy is imported before a command runs."""

from hulltune.cli.main import main

__all__ = ["main"]
