"""The commands: a file for each, imported when its command runs."""

COMMANDS = (
    "tune",
    "loop",
    "rerank",
    "score",
    "compare",
    "surface",
    "report",
    "answers",
    "info",
    "kbest",
    "convert",
    "export",
    "demo",
)
"""All commands, in the order of the help."""
