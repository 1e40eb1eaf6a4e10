"""Help, version and completion: on one screen, with an example, and without loading anything heavy."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys

import pytest

from hulltune import __version__
from hulltune.cli import main, parser
from hulltune.cli.commands import COMMANDS, command_parser
from hulltune.names import SEARCHES


@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_a_screen_and_has_an_example(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([name, "--help"]) == 0
    text = capsys.readouterr().out
    assert len(text.splitlines()) <= 40
    assert max(map(len, text.splitlines())) <= 80
    assert f"hulltune {name}" in text.split("example:")[1]
    assert text.startswith(f"usage: hulltune {name} ")


@pytest.mark.parametrize("name", COMMANDS)
def test_help_shows_every_option(name: str) -> None:
    made, _ = command_parser(name)
    text = made.format_help()
    for action in made._actions:
        for option in action.option_strings:
            assert option in text or option in ("--debug", "--heldout-add"), option


def test_help_of_all(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--help"]) == 0
    text = capsys.readouterr().out
    assert all(f"  {name} " in text for name in COMMANDS)
    assert len(text.splitlines()) <= 40
    assert max(map(len, text.splitlines())) <= 80
    assert main([]) == 2
    assert capsys.readouterr().err == text
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"hulltune {__version__}\n"


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], *([name, "--help"] for name in COMMANDS)])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import json, sys; from hulltune.cli import main; code = main(sys.argv[1:]);"
        "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})), file=sys.stderr); sys.exit(code)"
    )
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert not {"numpy", "numba", "rich", "sacrebleu", "matplotlib"} & set(json.loads(done.stderr))


@pytest.mark.parametrize("name", ["tune", "loop"])
def test_defaults_are_those_of_the_library(name: str) -> None:
    import inspect

    import hulltune
    from hulltune.search.optimise import SearchOptions
    from hulltune.tuning.options import TuneOptions

    made, _ = command_parser(name)
    given = made.parse_args(["lists"] if name == "tune" else ["--input", "dev.de", "--ref", "dev.en"])
    library = inspect.signature(getattr(hulltune, {"tune": "tune", "loop": "tune_loop"}[name])).parameters
    for option in ("metric", "scale", "search", "directions", "restarts", "policy", "smoothing", "seed", "threads"):
        assert getattr(given, option) == library[option].default, option
    for option in {"tune": ("folds", "replicates", "gap"), "loop": ("iterations",)}[name]:
        assert getattr(given, option) == library[option].default, option
    assert given.restarts == TuneOptions().restarts
    assert given.directions == SearchOptions().directions
    assert f"[{given.restarts}], lines a round [{given.directions}]" in made.format_help()


def bash_completions(*words: str) -> list[str]:
    script = 'eval "$(cat)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hulltune; printf "%s\\n" "${COMPREPLY[@]}"'
    made = subprocess.run(
        [sys.executable, "-m", "hulltune", "completion", "bash"], capture_output=True, text=True, check=True
    ).stdout
    done = subprocess.run(
        ["bash", "-c", script, "bash", *words], input=made, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


def test_bash_completes_commands_options_and_choices() -> None:
    assert bash_completions("hulltune", "s") == ["score", "surface"]
    assert bash_completions("hulltune", "tune", "--me") == ["--metric"]
    assert bash_completions("hulltune", "tune", "x", "--metric", "chr") == ["chrf", "chrf++"]
    assert bash_completions("hulltune", "tune", "--search", "") == list(SEARCHES)
    assert bash_completions("hulltune", "rerank", "--as", "") == ["text", "moses", "jsonl"]
    assert bash_completions("hulltune", "completion", "z") == ["zsh"]


def test_completion_for_other_shells(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", "zsh"]) == 0
    assert "bashcompinit" in capsys.readouterr().out
    assert main(["completion", "fish"]) == 0
    text = capsys.readouterr().out
    assert "complete -c hulltune -n '__fish_seen_subcommand_from tune' -l metric -x -a 'accuracy " in text
    assert text.count("-a demo ") == 1
    assert main(["completion", "csh"]) == 2
    assert capsys.readouterr().err.startswith("hulltune: unknown shell 'csh'")


def test_the_installed_script_calls_the_command() -> None:
    import importlib
    import re
    from pathlib import Path

    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^\[project.scripts\]\nhulltune = "([\w.]+):(\w+)"$', project, flags=re.MULTILINE)
    assert found is not None
    assert callable(getattr(importlib.import_module(found[1]), found[2]))


def test_values_of_options() -> None:
    assert parser.named_number("a=b=-1.5") == ("a=b", -1.5)
    assert parser.named_sign("lm=-") == ("lm", "-")
    for wrong in ("lm", "=1", "lm=x", "lm=nan"):
        with pytest.raises(argparse.ArgumentTypeError, match="expected NAME=NUMBER"):
            parser.named_number(wrong)
    with pytest.raises(argparse.ArgumentTypeError, match=r"expected NAME=\+ or NAME=-"):
        parser.named_sign("lm=*")
    with pytest.raises(argparse.ArgumentTypeError, match="expected a whole number"):
        parser.whole_number("-1")
