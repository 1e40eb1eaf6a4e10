"""Commands: how one is made, loaded and run, and its help with an option a line, in groups, and examples at the end.

rich-click draws the help. It imports rich only for that, so plain commands start without it.
"""

from __future__ import annotations

import importlib
import shlex
import sys
from collections.abc import Callable
from textwrap import wrap
from typing import TYPE_CHECKING, Any

import rich_click as click
from rich_click import RichArgument, RichCommand, RichContext, RichGroup, RichHelpFormatter, RichOption, RichOptionPanel

from hulltune.cli.commands import COMMANDS
from hulltune.errors import unknown_name

if TYPE_CHECKING:
    from rich.table import Table

DONE, FAILED, BAD_INPUT, INTERRUPTED = 0, 1, 2, 130
"""Exit codes. A metric that waits for answers has its own one (3)."""
ARGUMENTS = "hulltune.arguments"
"""The key of a context for the arguments of the command line."""
COMPLETE = "_HULLTUNE_COMPLETE"
"""The environment variable by which a shell asks for completions."""
DEBUG = "Show the Python traceback if the run fails."
"""The help of an option that all commands have."""
WIDEST = 100
"""The most columns of the help: longer lines are hard to read."""
SETTINGS: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "show_default": True,
    "rich_help_config": {
        "theme": "default-slim",
        "text_markup": None,
        "text_emojis": False,
        "max_width": WIDEST,
        "force_terminal": None,  # colours only on terminals: rich-click would also force them on build servers
        "options_panel_title": "general",
        "style_options_panel_title_style": "bold",
        "style_commands_panel_title_style": "bold",
        "default_string": r"\[default: {}]",
        "options_table_help_sections": ["help", "required", "default"],
    },
}


class _Options(RichOptionPanel):
    """A group of options, one a line, in two columns of equal widths for all groups of a command."""

    def get_table(self, command: RichCommand, ctx: RichContext, formatter: RichHelpFormatter) -> Table:
        """The options of the group and their help."""
        from rich.table import Table
        from rich.text import Text

        widest = max(sum(map(len, _spelled(param))) for param in command.get_params(ctx))
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True, min_width=widest)
        table.add_column()
        look = formatter.config
        styles = (look.style_switch, look.style_option, look.style_metavar)
        for param in self.get_objects(command, ctx):
            assert isinstance(param, (RichArgument, RichOption))
            spelled = Text.assemble(*zip(_spelled(param), styles, strict=True))
            # Only the text: rich-click puts it into columns, with which drawing takes half as long again.
            table.add_row(spelled, param.get_rich_help(ctx, formatter).renderables[0])
        return table


def _spelled(param: click.Parameter) -> tuple[str, str, str]:
    """The spelling of an option in three parts: its short form (or blanks), its name, and its value."""
    if isinstance(param, click.Argument):
        return "", "", param.metavar or ""
    short = next((f"{name}, " for name in param.opts if not name.startswith("--")), "    ")
    return short, long_name(param), "" if getattr(param, "is_flag", False) else f" {param.metavar}"


def long_name(param: click.Parameter) -> str:
    """The name of an option with two dashes, or of an argument."""
    if isinstance(param, click.Argument):
        return (param.metavar or "").strip("[…]")
    return next(name for name in param.opts if name.startswith("--"))


class _Formatter(RichHelpFormatter):
    option_panel_class = _Options


class _Context(RichContext):
    formatter_class = _Formatter


class Command(RichCommand):
    """A command whose help has all required options in its first line, and ends with examples."""

    context_class = _Context

    def __init__(self, *args: Any, examples: str = "", **options: Any) -> None:
        super().__init__(*args, **options)
        self.examples = examples

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments. Every usage error gets the context, so that its message can name the command."""
        try:
            return super().parse_args(ctx, args)
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, unless one of its outputs would overwrite one of its inputs."""
        from hulltune.cli.files import check_outputs

        check_outputs(ctx)
        return super().invoke(ctx)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The arguments and the required options; ``[options]`` stands for the others."""
        arguments, needed = [], []
        for param in self.get_params(ctx):
            if isinstance(param, click.Argument):
                arguments.append(param.metavar or "")
            elif param.required:
                needed.append(f"{long_name(param)} {param.metavar}")
        return [*arguments, *needed, "[options]"]

    def format_usage(self, ctx: click.Context, formatter: Any) -> None:
        """Write how to call the command, on as many lines as that takes (rich would put a long one beside its head)."""
        from rich.text import Text

        line = " ".join(["usage:", ctx.command_path, *self.collect_usage_pieces(ctx)])
        text = Text("\n".join(wrap(line, formatter.width, subsequent_indent="    ", break_on_hyphens=False)) + "\n")
        text.stylize(formatter.config.style_usage, 0, len("usage:"))
        text.stylize(formatter.config.style_usage_command, len("usage: "), len(f"usage: {ctx.command_path}"))
        formatter.write(text)

    def format_epilog(self, ctx: click.Context, formatter: Any) -> None:
        """Write the examples. A long line is broken with a backslash, so that it can be pasted."""
        from rich.text import Text

        formatter.write(Text("examples:", style=formatter.config.style_options_panel_title_style))
        for example in self.examples.splitlines():
            lines = wrap(example, formatter.width - 4, subsequent_indent="    ", break_on_hyphens=False)
            formatter.write(Text(" \\\n".join(f"  {line}" for line in lines)))

    def get_help(self, ctx: click.Context) -> str:
        """The help without blanks at the ends of lines, which rich adds."""
        return "\n".join(line.rstrip() for line in super().get_help(ctx).splitlines())


class Commands(Command, RichGroup):  # type: ignore[misc]  # rich-click's own classes disagree with click's
    """All commands by name. The module of a command is imported when it is needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names in the order of the help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> Command | None:
        """The command with this name, if there is one."""
        return load(cmd_name) if cmd_name in COMMANDS else None

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that the first argument names, and the other arguments."""
        if args[0] not in COMMANDS and not ctx.resilient_parsing:
            raise unknown_name("command", args[0], COMMANDS)
        return super().resolve_command(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """The words of the usage line: a command comes first."""
        return ["COMMAND", "[options]"]


def load(name: str) -> Command:
    """The command with this name."""
    found = getattr(importlib.import_module(f"hulltune.cli.commands.{name}"), name)
    assert isinstance(found, Command)
    return found


def command(*, group: str, examples: str) -> Callable[[Callable[..., int]], Command]:
    """Make a command of a function. ``group`` is its group in the list of commands; ``examples`` end its help."""

    def decorate(function: Callable[..., int]) -> Command:
        made = click.command(cls=Command, context_settings=SETTINGS, panel=group, examples=examples)(function)
        made.params.append(RichOption(["--debug"], is_flag=True, expose_value=False, help=DEBUG))
        return made

    return decorate


def note(message: str) -> None:
    """Print a line on standard error."""
    print(f"hulltune: {message}", file=sys.stderr)


def command_line() -> str:
    """The command line that is running, as it could be typed again."""
    context = click.get_current_context()
    return shlex.join(["hulltune", *(() if context is None else context.meta.get(ARGUMENTS, ()))])
