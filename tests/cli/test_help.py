"""Help, version and completion: readable, complete, with examples, and without loading anything heavy."""

from __future__ import annotations

import inspect
import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path

import pytest
import rich_click as click

from hulltune import (
    Certified,
    Constraints,
    Jobs,
    LineCma,
    Looping,
    Reading,
    Reranker,
    Tuning,
    __version__,
    read,
    tune,
    tune_loop,
)
from hulltune.cli import values
from hulltune.cli.command import COMPLETE, load
from hulltune.cli.commands import COMMANDS
from hulltune.cli.commands.loop import Decoding
from hulltune.names import BUILTIN_FEATURES, POLICIES, SCALES, SEARCHES, SMOOTHINGS, WRITERS
from hulltune.options import options_in
from hulltune.tuning.strategies import STRATEGIES
from tests.cli.running import Shell


@pytest.fixture(autouse=True)
def screen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")


@pytest.mark.parametrize("width", [60, 80, 200])
@pytest.mark.parametrize("name", COMMANDS)
def test_help_fits_the_width_of_the_screen(
    name: str, width: int, monkeypatch: pytest.MonkeyPatch, shell: Shell
) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    text = shell(f"{name} --help")
    assert max(map(len, text.splitlines())) <= min(width, 100)
    assert text.startswith(f"usage: hulltune {name} ")
    assert f"hulltune {name}" in text.split("\nexamples:\n")[1]
    assert "\x1b" not in text
    assert not re.search(r" $", text, flags=re.MULTILINE)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_has_a_line_and_a_sentence(name: str, monkeypatch: pytest.MonkeyPatch, shell: Shell) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    text = shell(f"{name} --help")
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
                    meant.setdefault(option, set()).update(set(param.opts) - {option, "--qrels"})  # another --ref
    assert {option: names.pop() for option, names in meant.items() if len(names) == 1} == {
        "-f": "--format", "-i": "--input", "-j": "--threads", "-k": "--k", "-m": "--metric", "-n": "--nbest",
        "-o": "--out", "-q": "--quiet", "-r": "--ref", "-s": "--seed", "-w": "--weights",
    }  # fmt: skip
    assert not any(meant.values())


def test_help_of_all(shell: Shell) -> None:
    text = shell("--help")
    assert all(f"\n  {name} " in text for name in COMMANDS)
    assert len(text.splitlines()) <= 40
    assert max(map(len, text.splitlines())) <= 80
    shell("", code=2)
    assert shell.said == text == shell("-h")
    assert shell("--version") == f"hulltune {__version__}\n"


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


def test_help_names_the_choices(shell: Shell) -> None:
    text = shell("tune --help")
    for name in (*SEARCHES, *POLICIES, *SMOOTHINGS, *SCALES, *BUILTIN_FEATURES):
        assert re.search(rf"\b{name}\b", text), name
    assert all(name in shell("convert --help") for name in WRITERS)


NO_FIELDS = {
    "any_order",
    "lists",
    "ref",
    "heldout_ref",
    "heldout_add",
    "certify",
    "report",
    "engine",
    "out",
    "as_json",
    "quiet",
    "debug",
}
"""Options of the command line alone: files that Python has in memory, where answers go, and short forms."""
ELSEWHERE = {
    "tune": {"constraints", "dtype", "progress"},
    "loop": {
        "normalise",
        "window",
        "on_error",
        "add",
        "features",
        "id_column",
        "text_column",
        "ref_column",
        "source_column",
        "ignore",
    }
    | {"start", "store"},
}
"""Fields that a command has in another form, or lacks, as decoders write no tables."""


def parameters(name: str) -> dict[str, click.Parameter]:
    """The parameters of a command by the names of its arguments."""
    return {param.name or "": param for param in load(name).params}


@pytest.mark.parametrize(("name", "kinds"), [("tune", (Reading, Tuning)), ("loop", (Reading, Looping))])
def test_fields_are_options(name: str, kinds: tuple[type, ...]) -> None:
    params = parameters(name)
    for kind in kinds:
        defaults = {each.name: each.default for each in fields(kind)}
        for field, told in options_in(kind).items():
            if not told.flag or field in ELSEWHERE[name]:
                continue
            param = params[field]
            assert isinstance(param, click.Option)
            assert set(re.findall(r"(?<![\w-])--?[\w-]+", told.flag)) == set(param.opts), field
            assert param.multiple or field == "folder" or param.default == defaults[field], field
            assert told.help.removeprefix("Compute ") in (param.help or ""), field


@pytest.mark.parametrize(("name", "kinds"), [("tune", (Reading, Tuning)), ("loop", (Reading, Looping, Decoding, Jobs))])
def test_options_are_fields(name: str, kinds: tuple[type, ...]) -> None:
    known = {each.name for kind in (*kinds, Constraints, *STRATEGIES.values()) for each in fields(kind)}
    assert set(parameters(name)) - NO_FIELDS <= known | {"help"}


@pytest.mark.parametrize("name", ["tune", "loop"])
def test_defaults_of_a_search_are_those_of_the_library(name: str) -> None:
    params = parameters(name)
    with load(name).make_context(name, [], resilient_parsing=True) as context:
        given = context.params
    for option in ("directions", "policy", "smoothing"):
        assert given[option] is None, "left to the strategy, which may not have it"
        assert f"[default: {getattr(LineCma(), option)}]" in getattr(params[option], "help", ""), option
    assert given["restarts"] is None, "each strategy has its own"
    assert params["scale"].default == Constraints().scale
    if name == "tune":
        assert params["gap"].default == Certified().gap


@pytest.mark.parametrize("function", [read, tune, tune_loop, Reranker.__init__])
def test_functions_tell_the_options_as_their_keywords(function: Callable[..., object]) -> None:
    kind = {"read": Reading, "tune_loop": Looping}.get(function.__name__, Tuning)
    found = {p.name: p.default for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}
    assert found == {each.name: each.default for each in fields(kind)}
    if function is not Reranker.__init__:
        assert all(f"- ``{name}``: " in (function.__doc__ or "") for name in found)
    with pytest.raises(TypeError, match="unknown option 'threds'; did you mean 'threads'"):
        function("data", threds=2) if function is not Reranker.__init__ else Reranker(threds=2)  # type: ignore[call-arg]


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
    assert completions(shell, "hulltune", "rerank", "--as", "") == [
        "text", "moses", "jsonl", "tsv", "kaldi", "trn", "trec"
    ]  # fmt: skip
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
    assert values.Named("NUMBER").convert("a=b=-1.5", None, None) == ("a=b", -1.5)
    assert values.Named("SIGN").convert("lm=-", None, None) == ("lm", "-")
    assert values.Named("SIGN").convert("any", None, None) == ("*", "any")
    assert values.NAMES.convert(" a, b,,", None, None) == ["a", "b"]
    assert values.Costs().convert("all", None, None) is True
    assert values.Costs().convert("none", None, None) is False
    assert values.Costs().convert("lm,tm", None, None) == ["lm", "tm"]
    for wrong in ("lm", "=1", "lm=x", "lm=nan"):
        with pytest.raises(click.BadParameter, match="expected NAME=NUMBER"):
            values.Named("NUMBER").convert(wrong, None, None)
    with pytest.raises(click.BadParameter, match="expected NAME=SIGN"):
        values.Named("SIGN").convert("lm", None, None)
    with pytest.raises(click.BadParameter, match="expected a whole number of at least 1"):
        values.RUNS.convert("0", None, None)
    for wrong in ("-1", "inf", "x"):
        with pytest.raises(click.BadParameter, match="expected a number of at least 0"):
            values.Number(0).convert(wrong, None, None)
