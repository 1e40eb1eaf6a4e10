"""The commands: a file for each, imported when its command runs."""

COMMANDS = (
    "tune",
    "loop",
    "rerank",
    "score",
    "compare",
    "surface",
    "report",
    "explore",
    "oracle",
    "answers",
    "info",
    "kbest",
    "convert",
    "pack",
    "demo",
    "warm",
    "help",
    "completion",
)
"""All commands, in the order of the help."""
