"""The commands over forests, end to end in this process, on small files."""

from __future__ import annotations

import gzip
import json
import re
from pathlib import Path

import numpy as np
import pytest

from hulltune import Climb, TuneResult, read, read_weights, tune
from hulltune.formats.forest_files import NamedForest
from hulltune.formats.forest_text import write_forest_text
from tests.cli.running import run, run_json
from tests.tuning.corpora import random_forests

QUICK = ["--restarts", "2", "--directions", "4", "--threads", "1"]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder ``forests`` with files 1.hg.gz to 12.hg.gz, references beside it, and the working directory."""
    forests, references = random_forests(20)
    (tmp_path / "forests").mkdir()
    for number, forest in enumerate(forests, 1):
        write_forest_text(tmp_path / "plain", [NamedForest(forest)])
        (tmp_path / "forests" / f"{number}.hg.gz").write_bytes(gzip.compress((tmp_path / "plain").read_bytes()))
    (tmp_path / "plain").unlink()
    (tmp_path / "refs.txt").write_text("".join(f"{line}\n" for line in references), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_calling_convention(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(
        capsys, "tune", "forests", "--ref", "refs.txt", "--metric", "wer", *QUICK, "--out", "w.json", "--json"
    )
    assert {"score", "baseline", "oracle", "weights", "metric", "seed", "seconds", "line_searches"} <= found.keys()
    assert found["sentences"] == 12
    result = tune(read("forests"), "refs.txt", metric="wer", search=Climb(restarts=2, directions=4))
    assert found["weights"] == result.weights
    assert read_weights("w.json") == found["weights"]
    assert TuneResult.load("w.json").oracle_kind == found["oracle_kind"]
    scored = run_json(
        capsys, "score", "forests", "--ref", "refs.txt", "--weights", "w.json", "--metric", "wer", "--json"
    )
    assert scored["score"] == found["score"]
    assert scored["baseline"] is None
    surface = run_json(
        capsys, "surface", "forests", "--ref", "refs.txt", "--weights", "w.json", "--metric", "wer",
        "--feature", "lm", "--json",
    )  # fmt: skip
    assert surface["score"] <= found["score"]
    code, out, _ = run(capsys, "rerank", "forests", "--weights", "w.json")
    assert code == 0
    (folder / "best.txt").write_text(
        "".join(f"{number} ||| {line} ||| x=1 ||| 1\n" for number, line in enumerate(out.splitlines())),
        encoding="utf-8",
    )
    (folder / "one.json").write_text('{"x": 1}', encoding="utf-8")
    again = run_json(
        capsys, "score", "best.txt", "--ref", "refs.txt", "--weights", "one.json", "--metric", "wer", "--json"
    )
    assert again["score"] == found["score"]


def test_patterns_files_and_ids(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--ref", "refs.txt", "--metric", "wer", *QUICK, "--no-oracle", "--json", "--quiet"]
    by_folder = run_json(capsys, "tune", "forests", *options)
    by_pattern = run_json(capsys, "tune", "forests/*.hg.gz", *options)
    by_name = run_json(capsys, "tune", "forests", "--ids", "name1", *options)
    one_by_one = run_json(capsys, "tune", *(f"forests/{number}.hg.gz" for number in range(1, 13)), *options)
    assert by_folder["weights"] == by_pattern["weights"] == by_name["weights"] == one_by_one["weights"]
    (folder / "forests" / "3.hg.gz").unlink()
    code, _, err = run(capsys, "tune", "forests", *options)
    assert code == 2
    assert "11 sentences, but 12 reference lines" in err
    assert "left out" not in err
    code, out, err = run(capsys, "tune", "forests", "--ids", "name1", *options)
    assert json.loads(out)["sentences"] == 11
    assert "left out 1 of 12 reference lines, for which there is no forest" in err
    code, _, err = run(capsys, "tune", "forests", "--ids", "name", *options)
    assert code == 2
    assert "--ids name1 counts from 1" in err


def test_best_of_forests_as_lists(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "w.txt").write_text("lm 1\ntm 0.5\nlength 0.1\nunheard 3\n", encoding="utf-8")
    code, out, err = run(capsys, "rerank", "forests", "--weights", "w.txt", "--best", "3")
    assert code == 0
    assert "the forests have no unheard: taken as 0" in err
    lines = [line.split(" ||| ") for line in out.splitlines()]
    assert [int(line[0]) for line in lines] == sorted([*range(12)] * 3)
    scores = np.array([float(line[3]) for line in lines]).reshape(-1, 3)
    assert np.all(np.diff(scores, axis=1) <= 0)
    code, text, _ = run(capsys, "rerank", "forests", "--weights", "w.txt")
    assert text.splitlines() == [line[1] for line in lines[::3]]


def test_info(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "forests" / "README").write_text("not a forest\n", encoding="utf-8")
    found = run_json(capsys, "info", "forests", "--ref", "refs.txt", "--metric", "wer", "--json")
    assert found["sentences"] == 12
    assert found["kinds"]["lattice"] == found["kinds"]["hypergraph"] == 6
    assert [feature["name"] for feature in found["features"]] == ["lm", "tm", "length"]
    assert found["scores"]["baseline"] is None
    assert found["scores"]["oracle"] < 0.5
    assert found["left_out"] == ["forests/README"]
    code, out, err = run(capsys, "info", "forests")
    assert code == 0
    assert "12 sentences (6 lattices, 6 hypergraphs)" in out
    assert "left out 1 file in no known format of forests: README" in err


def test_lists_beside_forests(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "forests" / "1.hg.gz").unlink()
    lists = ["0 ||| ba ||| lm=1 ||| 0", "0 ||| be ||| lm=2 tm=1 length=3 ||| 1"]
    (folder / "lists.txt").write_text("".join(f"{line}\n" for line in lists), encoding="utf-8")
    found = run_json(
        capsys, "tune", "lists.txt", "forests", "--ids", "name1", "--missing", "0", "--ref", "refs.txt", "--metric",
        "wer", *QUICK, "--json", "--quiet",
    )  # fmt: skip
    assert found["sentences"] == 12
    assert found["baseline_kind"] == "the start weights' choice, and the lists' own first choice"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["info", "lists.txt", "--ids", "name"], "--ids: is for forests"),
        (["info", "forests", "--ids", "nane"], "did you mean 'name'"),
        (["info", "forests", "--features", "words,rank"], "--features: rank is for lists; forests take words"),
        (["info", "forests", "--on-error", "skip"], "--on-error: is for lists"),
        (["info", "forests", "--negate", "lmm"], "did you mean 'lm'"),
        (["info", "forests", "--format", "slf"], r"1\.hg\.gz"),
        (["info", "nothing/*.hg"], "no file matches this pattern"),
        (["score", "forests", "--ref", "refs.txt", "--weights", "none.txt"], "has no weight for any feature"),
    ],
)
def test_faults(folder: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    (folder / "lists.txt").write_text("0 ||| a ||| x=1 ||| 1\n", encoding="utf-8")
    (folder / "none.txt").write_text("x 1\n", encoding="utf-8")
    code, _, err = run(capsys, *arguments)
    assert code == 2
    assert re.search(message, err), err
    assert err.count("\n") == 1


def test_signs_and_words_on_request(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    plain = run_json(capsys, "info", "forests", "--json")["features"]
    turned = run_json(capsys, "info", "forests", "--negate", "all", "--json")["features"]
    assert [feature["most"] for feature in turned] == [-feature["least"] for feature in plain]
    one = run_json(capsys, "info", "forests", "--negate", "tm", "--json")["features"]
    assert one[0] == plain[0]
    assert one[1] == turned[1]
    (folder / "w.txt").write_text("lm 1\n", encoding="utf-8")
    dropped = run(capsys, "rerank", "forests", "--weights", "w.txt", "--drop", "ba,be,bi,bo,bu", "--quiet")[1]
    assert set(dropped.split()) <= {"da", "de", "di", "do", "du"}


def test_threads_that_read_change_nothing(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = []
    for threads in ("1", "3"):
        code, _, _ = run(capsys, "convert", "forests", f"{threads}.hull", "--threads", threads)
        assert code == 0
        data = ["forests", "--ref", "refs.txt", "--metric", "wer", "--weights", "start.txt", "-j", threads]
        (folder / "start.txt").write_text("lm 1\n", encoding="utf-8")
        said.append([run(capsys, "score", *data)[:2], run(capsys, "rerank", data[0], *data[5:])[:2]])
        said[-1].append(run(capsys, "info", "forests", "-j", threads)[:2])
        assert [code for code, _ in said[-1]] == [0, 0, 0]
    assert said[0] == said[1]
    assert (folder / "1.hull").read_bytes() == (folder / "3.hull").read_bytes()
