"""The page of the command line, written from the commands themselves: what their help says is what the page says."""

from __future__ import annotations

from inspect import cleandoc
from typing import Any

import click
from sphinx.application import Sphinx

from hulltune.cli.command import load, long_name
from hulltune.cli.commands import COMMANDS

PAGE = "reference/commands"
MARK = "<!-- all commands -->"


def section(name: str) -> str:
    """The section of a command in Markdown: what it does, its options by group, and examples."""
    command = load(name)
    context = command.make_context(name, [], resilient_parsing=True)
    usage = " ".join(["hulltune", name, *command.collect_usage_pieces(context)])
    parts = [f"## {name}", cleandoc(command.help or ""), f"```text\n{usage}\n```"]
    params = command.get_params(context)
    for group in dict.fromkeys(map(_group, params)):  # in the order of the help
        told = [_told(param, context) for param in params if _group(param) == group]
        parts.append("\n\n".join([f"**{group}**", *told]))
    examples = "\n".join(f"$ {line}" for line in command.examples.splitlines())
    parts.append(f"**examples**\n\n```console\n{examples}\n```")
    return "\n\n".join(parts)


def _group(param: click.Parameter) -> str:
    panel = getattr(param, "panel", None)
    return (panel[0] if isinstance(panel, (list, tuple)) else panel) or "general"


def _told(param: click.Parameter, context: click.Context) -> str:
    """An entry of a definition list: the spelling of an option, and its help with its default."""
    names = [long_name(param)] if isinstance(param, click.Argument) else param.opts
    value = "" if isinstance(param, click.Argument) or getattr(param, "is_flag", False) else f" {param.metavar}"
    spelled = ", ".join(names) + value
    record = param.get_help_record(context) if isinstance(param, click.Option) else None
    text = record[1] if record else getattr(param, "help", None) or ""
    return f"`{spelled}`\n: {_plain(text)}"


def _plain(text: str) -> str:
    """Text without signs that Markdown takes for markup."""
    return "".join(f"\\{sign}" if sign in "*_[]<>|" else sign for sign in " ".join(text.split()))


def write(app: Sphinx, page: str, source: list[str]) -> None:
    """Put all commands in the place of the mark."""
    if page == PAGE:
        source[0] = source[0].replace(MARK, "\n\n".join(section(name) for name in COMMANDS))


def setup(app: Sphinx) -> dict[str, Any]:
    """Register the extension."""
    app.connect("source-read", write)
    return {"version": "1", "parallel_read_safe": True}
