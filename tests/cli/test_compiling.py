"""The note on compiling comes with the first run of a command, and with no other."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from hulltune.cli import main
from hulltune.cli.compiling import TUNING_FORESTS, TUNING_LISTS, needs_compiling

COMPILING = "hulltune: compiling kernels, first run only\n"


def test_the_first_run_says_that_it_compiles(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder / "nothing"))
    assert needs_compiling(TUNING_LISTS)
    fault = ["--ref", "refs", "--heldout-ref", "refs"]  # after the note
    tune_lists = ["tune", "good", *fault]
    assert main(tune_lists) == 2
    assert capsys.readouterr().err.startswith(COMPILING)
    cache = folder / "nothing" / "kernels_0123"
    cache.mkdir(parents=True)
    version = f"py{sys.version_info[0]}{sys.version_info[1]}"
    for name in TUNING_LISTS:
        (cache / f"{name}-1.{version}.nbi").touch()
    assert not needs_compiling(TUNING_LISTS)
    assert main(tune_lists) == 2
    assert COMPILING not in capsys.readouterr().err
    (folder / "forest").write_text("2 2\n1\na ||| x=1\n1\n[0] b ||| x=1\n", encoding="utf-8")
    assert needs_compiling(TUNING_FORESTS)
    assert main(["tune", "forest", *fault]) == 2  # other kernels
    assert capsys.readouterr().err.startswith(COMPILING)
    os.utime(cache / f"{TUNING_LISTS[0]}-1.{version}.nbi", (1, 1))
    assert needs_compiling(TUNING_LISTS)


ASKED_AND_CALLED = """
import json, sys
from hulltune.cli import compiling, main
asked = []
compiling.needs_compiling = lambda kernels: asked.extend(kernels)
for arguments in json.loads(sys.argv[1]):
    assert main(arguments) == 0, arguments
called = [
    f"{name.rpartition('.')[2]}.{function}"
    for name, module in sys.modules.items() if name.startswith("hulltune.kernels.")
    for function, kernel in vars(module).items() if getattr(kernel, "signatures", None)
]
print(json.dumps([asked, called]))
"""


@pytest.mark.parametrize("kind", ["lists", "forests"])
def test_the_kernels_that_commands_look_for_are_those_they_call(folder: Path, kind: str) -> None:
    """Otherwise every run would say that it is the first."""
    if kind == "lists":
        data, refs, feature = "good", "refs", "y"
    else:
        assert main(["decode", "--make", "2", "--input", "de", "--ref", "en"]) == 0
        assert main(["decode", "--input", "de", "--output", "forests", "--forest"]) == 0
        data, refs, feature = "forests", "en", "lm"
    judged = [data, "--ref", refs, "--metric"]
    weighted = ["--weights", "w.json"]
    commands = [
        ["tune", *judged, "wer", "--restarts", "0", "--out", "w.json"],
        ["score", *judged, "wer", *weighted],
        ["rerank", data, *weighted],
        ["surface", *judged, "wer", *weighted, "--feature", feature, "--out", "surface.csv"],
        ["oracle", *judged, "cer"],
        ["oracle", *judged, "bleu", *weighted],
        ["kbest", data, *weighted, "--k", "3", "--out", "best"],
    ]
    told = subprocess.run(
        [sys.executable, "-c", ASKED_AND_CALLED, json.dumps(commands)], check=True, capture_output=True, text=True
    ).stdout
    asked, called = map(set, json.loads(told.splitlines()[-1]))
    assert set(TUNING_LISTS if kind == "lists" else TUNING_FORESTS) <= asked <= called
