"""``hulltune completion``: a script that completes commands, options and choices in a shell."""

from __future__ import annotations

import rich_click as click
from click.shell_completion import get_completion_class

from hulltune.cli.answers import DONE
from hulltune.cli.help import COMPLETE, command
from hulltune.cli.options import argument
from hulltune.cli.values import OneOf

EXAMPLES = """\
source <(hulltune completion bash)    # in ~/.bashrc
source <(hulltune completion zsh)     # in ~/.zshrc
hulltune completion fish > ~/.config/fish/completions/hulltune.fish"""
SHELLS = ("bash", "zsh", "fish")


@command(group="get started", examples=EXAMPLES)
@argument("which shell", "shell", "SHELL", "One of bash, zsh and fish.", type=OneOf("shell", SHELLS))
@click.pass_context
def completion(ctx: click.RichContext, shell: str) -> int:
    """Print a script that completes commands in bash, zsh or fish."""
    maker = get_completion_class(shell)
    assert maker is not None
    click.echo(maker(ctx.find_root().command, {}, "hulltune", COMPLETE).source(), nl=False)
    return DONE
