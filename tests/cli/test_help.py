"""Help, version and completion: readable, complete, with examples, and without loading anything heavy."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import rich_click as click

from hulltune import __version__
from hulltune.cli import main, values
from hulltune.cli.commands import COMMANDS
from hulltune.cli.help import COMPLETE, load
from hulltune.names import BUILTIN_FEATURES, POLICIES, SCALES, SEARCHES, SMOOTHINGS, WRITERS


def shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *arguments: str, width: int = 80) -> str:
    """The output of a command that must succeed, on a screen of this width."""
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(arguments) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_the_width_of_the_screen(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(monkeypatch, capsys, name, "--help", width=width)
    assert max(map(len, text.splitlines())) <= min(width, 100)
    assert text.startswith(f"usage: hulltune {name} ")
    assert f"hulltune {name}" in text.split("\nexamples:\n")[1]
    assert "\x1b" not in text
    assert not re.search(r" $", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_line_and_a_sentence(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    text = shown(monkeypatch, capsys, name, "--help", width=100)
    told = dict(re.findall(r"^  (?:-\w, |    )(--[\w-]+)(?: \S+)*?  +([A-Z].+)$", text, flags=re.MULTILINE))
    for param in load(name).params:
        if isinstance(param, click.Option):
            long = next(option for option in param.opts if option.startswith("--"))
            assert param.help is not None
            assert param.help.split("[default")[0].rstrip().endswith("."), long
            assert param.help.startswith(told[long].split(" [")[0][:20])
    assert {"--debug", "--help"} <= told.keys()


def test_short_forms_mean_the_same_everywhere() -> None:
    meant: dict[str, set[str]] = {}
    for name in COMMANDS:
        for param in load(name).params:
            for option in param.opts:
                if re.fullmatch(r"-\w", option):
                    meant.setdefault(option, set()).update(set(param.opts) - {option})
    assert {option: names.pop() for option, names in meant.items() if len(names) == 1} == {
        "-f": "--format", "-i": "--input", "-j": "--threads", "-k": "--k", "-m": "--metric", "-n": "--nbest",
        "-o": "--out", "-q": "--quiet", "-r": "--ref", "-s": "--seed", "-w": "--weights",
    }  # fmt: skip
    assert not any(meant.values())


def test_help_of_all(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(monkeypatch, capsys, "--help")
    assert all(f"\n  {name} " in text for name in COMMANDS)
    assert len(text.splitlines()) <= 40
    assert max(map(len, text.splitlines())) <= 80
    assert main([]) == 2
    assert capsys.readouterr().err == text
    assert shown(monkeypatch, capsys, "-h") == text
    assert shown(monkeypatch, capsys, "--version") == f"hulltune {__version__}\n"


LOADED = (
    "import json, sys; from hulltune.cli import main; code = main(sys.argv[1:]);"
    "print(json.dumps(sorted({name.split('.')[0] for name in sys.modules})), file=sys.stderr); sys.exit(code)"
)


def loaded(*arguments: str, **environment: str) -> set[str]:
    """The packages that a command imports."""
    command = [sys.executable, "-c", LOADED, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env={**os.environ, **environment})
    return set(json.loads(done.stderr))


HEAVY = {"numpy", "numba", "sacrebleu", "matplotlib", "scipy"}


@pytest.mark.parametrize("arguments", [["--help"], *([name, "--help"] for name in COMMANDS)])
def test_help_loads_nothing_heavy(arguments: list[str]) -> None:
    assert not HEAVY & loaded(*arguments)


def test_what_is_drawn_by_nobody_loads_nothing_that_draws() -> None:
    assert not (HEAVY | {"rich"}) & loaded("--version")
    words = {"COMP_WORDS": "hulltune tune x --metric bleu --search ", "COMP_CWORD": "6", COMPLETE: "bash_complete"}
    assert not (HEAVY | {"rich"}) & loaded(**words)


def test_help_names_the_choices(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = shown(monkeypatch, capsys, "tune", "--help")
    for name in (*SEARCHES, *POLICIES, *SMOOTHINGS, *SCALES, *BUILTIN_FEATURES):
        assert re.search(rf"\b{name}\b", text), name
    text = shown(monkeypatch, capsys, "convert", "--help")
    assert all(name in text for name in WRITERS)


@pytest.mark.parametrize("name", ["tune", "loop"])
def test_defaults_are_those_of_the_library(name: str) -> None:
    import inspect

    import hulltune

    arguments = (
        ["lists"] if name == "tune" else ["--input", "dev.de", "--ref", "dev.en", "--decoder", "x", "--weights", "w"]
    )
    with load(name).make_context(name, arguments) as context:
        given = {**context.params, "metric": context.params["metric"].name}
    library = inspect.signature(getattr(hulltune, {"tune": "tune", "loop": "tune_loop"}[name])).parameters
    for option in ("metric", "search", "seed", "threads"):
        assert given[option] == library[option].default, option
    for option in {"tune": ("folds", "replicates"), "loop": ("iterations",)}[name]:
        assert given[option] == library[option].default, option
    texts = {parameter.name: getattr(parameter, "help", "") for parameter in load(name).params}
    for option in ("directions", "policy", "smoothing"):
        assert given[option] is None, "left to the strategy, which may not have it"
        assert f"[default: {getattr(hulltune.LineCma(), option)}]" in texts[option], option
    assert given["restarts"] is None, "each strategy has its own"
    assert given["scale"] == hulltune.Constraints().scale
    if name == "tune":
        assert given["gap"] == hulltune.Certified().gap


def completions(shell: str, *words: str) -> list[str]:
    """The completions that a shell gets from the program for the last of these words."""
    position = {"fish": words[-1]}.get(shell, str(len(words) - 1))
    asked = {"COMP_WORDS": " ".join(words), "COMP_CWORD": position, COMPLETE: f"{shell}_complete"}
    done = subprocess.run(
        [sys.executable, "-m", "hulltune"], env={**os.environ, **asked}, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    if shell == "zsh":  # kind, value and description in three lines
        return done.stdout.splitlines()[1::3]
    return [line.split(",", 1)[1].split("\t")[0] for line in done.stdout.splitlines()]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_options_and_choices(shell: str) -> None:
    assert completions(shell, "hulltune", "s") == ["score", "surface"]
    assert set(completions(shell, "hulltune", "")) == set(COMMANDS)
    assert completions(shell, "hulltune", "tune", "--me") == ["--metric"]
    assert completions(shell, "hulltune", "tune", "x", "--metric", "chr") == ["chrf", "chrf++"]
    assert completions(shell, "hulltune", "rerank", "--as", "") == ["text", "moses", "jsonl", "tsv"]
    assert completions(shell, "hulltune", "tune", "--features", "words,ch") == ["words,chars"]


def test_the_script_for_bash_completes(tmp_path: Path) -> None:
    program = tmp_path / "hulltune"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m hulltune "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    made = subprocess.run(
        [str(program)], env={**os.environ, COMPLETE: "bash_source"}, capture_output=True, text=True, check=True
    ).stdout
    script = (
        'eval "$(cat)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _hulltune_completion hulltune; '
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "-c", script, "bash", "hulltune", "tune", "x", "--search", ""],
        input=made, capture_output=True, text=True, check=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.stdout.split() == list(SEARCHES)


def test_the_installed_script_calls_the_command() -> None:
    import importlib

    project = (Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8")
    found = re.search(r'^\[project.scripts\]\nhulltune = "([\w.]+):(\w+)"$', project, flags=re.MULTILINE)
    assert found is not None
    assert callable(getattr(importlib.import_module(found[1]), found[2]))


def test_values_of_options() -> None:
    assert values.NamedNumber().convert("a=b=-1.5", None, None) == ("a=b", -1.5)
    assert values.NamedSign().convert("lm=-", None, None) == ("lm", "-")
    assert values.NAMES.convert(" a, b,,", None, None) == ["a", "b"]
    assert values.Costs().convert("all", None, None) is True
    assert values.Costs().convert("none", None, None) is False
    assert values.Costs().convert("lm,tm", None, None) == ["lm", "tm"]
    for wrong in ("lm", "=1", "lm=x", "lm=nan"):
        with pytest.raises(click.BadParameter, match="expected NAME=NUMBER"):
            values.NamedNumber().convert(wrong, None, None)
    with pytest.raises(click.BadParameter, match=r"expected NAME=\+ or NAME=-"):
        values.NamedSign().convert("lm=*", None, None)
    with pytest.raises(click.BadParameter, match="expected a whole number of at least 1"):
        values.RUNS.convert("0", None, None)
    for wrong in ("-1", "inf", "x"):
        with pytest.raises(click.BadParameter, match="expected a number of at least 0"):
            values.Number(0).convert(wrong, None, None)
