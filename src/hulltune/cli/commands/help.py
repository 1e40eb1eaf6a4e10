"""``hulltune help``: the help of a command, or of all."""

from __future__ import annotations

import rich_click as click

from hulltune.cli.answers import DONE
from hulltune.cli.commands import COMMANDS
from hulltune.cli.help import command, load
from hulltune.cli.options import argument
from hulltune.cli.values import OneOf

EXAMPLES = """\
hulltune help tune
hulltune help"""


@command(group="get started", examples=EXAMPLES)
@argument(
    "what to explain",
    "name",
    "[COMMAND]",
    "The name of a command. Without it, all commands are listed.",
    type=OneOf("command", COMMANDS),
    required=False,
)
@click.pass_context
def help(ctx: click.RichContext, name: str | None) -> int:  # noqa: A001  # the word that users type
    """Show the help of a command."""
    root = ctx.find_root()
    if name is None:
        click.echo(root.get_help())
        return DONE
    with load(name).make_context(name, [], parent=root, resilient_parsing=True) as context:
        click.echo(context.get_help())
    return DONE
