"""Print a script that completes commands, options and choices in a shell."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from hulltune.cli.commands import COMMANDS, command_parser
from hulltune.cli.exits import DONE
from hulltune.cli.parser import Parser, add_help
from hulltune.errors import unknown_name

USAGE = "bash | zsh | fish"
EXAMPLE = """  source <(hulltune completion bash)        # in ~/.bashrc or ~/.zshrc
  hulltune completion fish > ~/.config/fish/completions/hulltune.fish"""
SHELLS = ("bash", "zsh", "fish")


def configure(parser: Parser) -> None:
    """The options of ``completion``."""
    parser.add_argument("shell", metavar="SHELL", help="bash, zsh or fish")
    add_help(parser)
    parser.offer("", SHELLS)


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    if args.shell not in SHELLS:
        raise unknown_name("shell", args.shell, SHELLS)
    print(fish_script() if args.shell == "fish" else bash_script(zsh=args.shell == "zsh"), end="")
    return DONE


def bash_script(*, zsh: bool = False) -> str:
    """For bash; zsh runs the same function through its own layer for bash completions."""
    commands, choices = [], []
    for name in COMMANDS:
        parser, _ = command_parser(name)
        commands.append(f"    {name}) words='{' '.join(_options(parser))}' ;;")
        for option, values in parser.choices.items():
            if option:
                choices.append(f"    {name}:{option}) {_offer(values)}; return ;;")
    lines = [
        *(["autoload -U +X compinit && compinit", "autoload -U +X bashcompinit && bashcompinit"] if zsh else []),
        "_hulltune() {",
        '  local current="${COMP_WORDS[COMP_CWORD]}" previous="${COMP_WORDS[COMP_CWORD-1]}" words=""',
        "  COMPREPLY=()",
        '  if [ "$COMP_CWORD" -eq 1 ]; then',
        f"    {_offer([*COMMANDS, '--help', '--version'])}; return",
        "  fi",
        '  case "${COMP_WORDS[1]}:$previous" in',
        *choices,
        "  esac",
        '  case "${COMP_WORDS[1]}" in',
        *commands,
        "  esac",
        '  case "${COMP_WORDS[1]}:$current" in',
        f"    completion:*) {_offer(SHELLS)} ;;",
        '    *:-*) COMPREPLY=($(compgen -W "$words" -- "$current")) ;;',
        '    *) COMPREPLY=($(compgen -f -- "$current")) ;;',
        "  esac",
        "}",
        "complete -o filenames -F _hulltune hulltune",
    ]
    return "\n".join(lines) + "\n"


def fish_script() -> str:
    """For fish: a line for each command and each option."""
    lines = [
        f"complete -c hulltune -n __fish_use_subcommand -f -a {name} -d {_quoted(purpose)}"
        for name, purpose in COMMANDS.items()
    ]
    for name in COMMANDS:
        parser, _ = command_parser(name)
        here = f"complete -c hulltune -n '__fish_seen_subcommand_from {name}'"
        for action in parser._actions:
            for option in action.option_strings:
                if not option.startswith("--"):
                    continue
                values = parser.choices.get(option, ())
                takes = "" if action.nargs == 0 else (f" -x -a '{' '.join(values)}'" if values else " -r")
                about = "" if action.help in (None, argparse.SUPPRESS) else f" -d {_quoted(str(action.help))}"
                lines.append(f"{here} -l {option[2:]}{takes}{about}")
    lines.append(f"complete -c hulltune -n '__fish_seen_subcommand_from completion' -f -a '{' '.join(SHELLS)}'")
    return "\n".join(lines) + "\n"


def _offer(words: Sequence[str]) -> str:
    return f"COMPREPLY=($(compgen -W '{' '.join(words)}' -- \"$current\"))"


def _options(parser: Parser) -> list[str]:
    return [option for action in parser._actions for option in action.option_strings if option.startswith("--")]


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"
