"""The working directory of the command tests: a folder with small lists and forests, references and weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest

from hulltune import Forest, ForestBuilder, write
from hulltune.formats.forest_files import NamedForest
from hulltune.formats.forest_text import write_forest_text
from hulltune.simulate import simulated_task
from tests.cli.running import Shell
from tests.tuning.corpora import random_forests, random_lists, random_records

GOOD = ["0 ||| a b ||| x= 1 2 y= 3 ||| 1", "0 ||| a c ||| x= 1 1 y= 0 ||| 2", "1 ||| d ||| x= 0 1 y= 1 ||| 0"]


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


@pytest.fixture
def folder(files: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The working directory, with a copy of all files."""
    shutil.copytree(files, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("files")
    _write(folder / "good", GOOD)
    _write(folder / "refs", ["a b", "d"])
    _write(folder / "empty", [])
    _write(folder / "w.txt", ["x_0 1", "x_1 1", "y 1"])
    records = random_records(1)
    write(random_lists(1), folder / "lists.jsonl")
    write(random_lists(1), folder / "lists.moses", format="moses")
    _write(folder / "lists.refs", [record["refs"][0] for record in records])
    bare = [{key: value for key, value in record.items() if key != "refs"} for record in records]
    _write(folder / "bare.jsonl", [json.dumps(record) for record in bare])
    _write(folder / "old.txt", ["f0 1", "f1 0.3", "f2 0.11"])
    _write(folder / "new.txt", ["f0 -0.2", "f1 1.7", "f2 0.9"])
    write(random_lists(4), folder / "few.jsonl")
    _write(folder / "few.w", ["f0 1", "f1 0.5", "f2 0.2"])
    write(simulated_task(sentences=12, candidates=8, seed=1).lists, folder / "task.jsonl")
    _write_forests(folder)
    return folder


def _write(path: Path, lines: list[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write_forests(folder: Path) -> None:
    """A folder ``forests`` with 1.hg.gz to 12.hg.gz, and ``dev.forest`` with two lattices."""
    forests, references = random_forests(20)
    (folder / "forests").mkdir()
    for number, forest in enumerate(forests, 1):
        write_forest_text(folder / "forests" / f"{number}.hg.gz", [NamedForest(forest)])
    _write(folder / "forests.refs", references)
    _write(folder / "forests.w", ["lm 1", "tm 0.5", "length 0.1"])
    rng = np.random.default_rng(3)
    words = [[["the", "a"], ["cat", "hat", "mat"], ["sat", "sits"]], [["he", "she"], ["sleeps", "slept", "slips"]]]
    lattices = [NamedForest(_lattice(choices, rng), name) for choices, name in zip(words, "ab", strict=True)]
    write_forest_text(folder / "dev.forest", lattices)
    _write(folder / "dev.refs", ["the hat sat", "she slept well"])
    _write(folder / "dev.w", ["score 1", "words -0.25"])


def _lattice(words: list[list[str]], rng: np.random.Generator) -> Forest:
    """A confusion network with random scores."""
    builder = ForestBuilder(feature_names=["score", "words"])
    builder.add_edge(0, features=[0.0, 0.0], output=[])
    for place, choices in enumerate(words):
        for word in choices:
            builder.add_edge(place + 1, [place], features=[round(float(rng.normal()), 3), 1.0], output=[0, word])
    return builder.build(root=len(words))
