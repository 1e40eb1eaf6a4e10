"""The command line: one file per subcommand. Nothing heavy is imported before a command runs."""

from hulltune.cli.main import main

__all__ = ["main"]
