"""Outputs that name an input: refused, under whatever name, and the input is as it was."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.running import Shell

WEIGHTS = {"x_0": 1.0, "x_1": 1.0, "y": 1.0}
QUICK = "--restarts 0 --quiet --metric wer"
LOOP = "loop --decoder 'x {weights}' --weights w.json -i refs"
CASES = {
    "tune: references": f"tune good --ref refs.txt --out refs.txt {QUICK}",
    "tune: lists": f"tune good.txt --ref refs.txt --out good.txt {QUICK}",
    "tune: a pattern": f"tune 'g*d.txt' --ref refs.txt --out good.txt {QUICK}",
    "tune: the second output": f"tune good --ref refs.txt --out w.json --out refs.txt {QUICK}",
    "tune: held-out lists": f"tune good -r refs --heldout good.txt --heldout-ref refs.txt --out good.txt {QUICK}",
    "tune: held-out references": f"tune good -r refs --heldout good.txt --heldout-ref refs.txt --out refs.txt {QUICK}",
    "tune: added scores": f"tune good -r refs --add m.txt z --out m.txt {QUICK}",
    "tune: the store": f"tune good -r refs.txt --store refs.txt {QUICK}",
    "tune: the questions": f"tune good -r refs.txt --questions refs.txt {QUICK}",
    "tune: scores of a metric": "tune good -r refs --metric given:scores=s.tsv --store s.tsv",
    "score: the store": "score good -r refs -w w.txt --store w.txt",
    "rerank: weights": "rerank good --weights w.txt --out w.txt",
    "rerank: lists": "rerank good --weights w.txt --out good",
    "kbest: weights": "kbest good --weights w.txt --out w.txt",
    "score: references": "score good --oracle --ref refs --out refs",
    "surface: weights": "surface good -r refs -w w.csv --feature y --out w.csv",
    "surface: other weights": "surface good -r refs -w w.txt --to w.csv --out w.csv",
    "convert: lists": "convert good good --to jsonl",
    "convert: a folder": "convert lattices lattices --to slf",
    "convert: a file of a folder": "convert lattices lattices/0.slf --to forest",
    "convert: into the folder of a file": "convert lattices/0.slf lattices --to slf",
    "convert: packed": "convert good good",
    "convert: a link": "convert good link",
    "convert: a hard link": "convert good hard",
    "convert: another way": "convert good lattices/../good",
    "convert: the table of words": "convert lattices --symbols refs refs",
    "convert: the names of forests": "convert lattices --ids refs refs",
    "loop: start": f"{LOOP} -r refs --out w.json",
    "loop: references": f"{LOOP} -r refs.txt --out refs.txt",
    "loop: a template": f"{LOOP} -r refs --weights-template w.txt --out w.txt",
}


@pytest.fixture
def room(folder: Path) -> Path:
    """A working directory with all the files that the cases name."""
    for name in ("good", "refs"):
        Path(f"{name}.txt").write_bytes(Path(name).read_bytes())
    Path("m.txt").write_text("1\n" * len(Path("good").read_text().splitlines()))
    Path("w.json").write_text(json.dumps(WEIGHTS))
    Path("w.csv").write_text("x_0 1\nx_1 1\ny 1\n")
    Path("s.tsv").write_text("0\t1\ta b\n")
    os.symlink("good", "link")
    os.link("good", "hard")
    Path("lattices").mkdir()
    Path("lattices/0.slf").write_text(
        "VERSION=1.0\nUTTERANCE=0\nstart=0 end=1\nN=2 L=1\nI=0\nI=1\nJ=0 S=0 E=1 W=a a=1 l=2\n"
    )
    return folder


@pytest.mark.parametrize("line", CASES.values(), ids=CASES)
def test_no_output_takes_the_place_of_an_input(room: Path, shell: Shell, line: str) -> None:
    before = {path: path.read_bytes() for path in room.rglob("*") if path.is_file()}
    shell.refuses(line, "would be overwritten; name another file")
    assert {path: path.read_bytes() for path in room.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("outputs", ["--out a.json --out ./a.json", "--out a.json --store a.json"])
def test_no_output_takes_the_place_of_another(room: Path, shell: Shell, outputs: str) -> None:
    shell.refuses(f"tune good -r refs {QUICK} {outputs}", "too; give each a file of its own")
    assert not (room / "a.json").exists()


@pytest.mark.parametrize("name", ["loop/state.json", "loop/iter-001/weights.json", "x/../loop/iter-001/a.txt"])
def test_no_output_takes_the_place_of_a_file_of_the_run(room: Path, shell: Shell, name: str) -> None:
    for made in ("loop/iter-001", "x"):
        Path(made).mkdir(parents=True)
    shell.refuses(f"{LOOP} -r refs --run loop --out {name}", "is for the run in loop itself")


def test_a_result_may_take_the_place_of_the_start_that_it_goes_on_from(room: Path, shell: Shell) -> None:
    shell(f"tune good -r refs --start w.json --out w.json {QUICK}")
    assert "score" in json.loads(Path("w.json").read_text())


def test_what_is_no_file_can_be_both(room: Path, shell: Shell) -> None:
    shell("rerank good -w w.txt --out /dev/null")
    shell("convert good - --to jsonl --quiet")


@pytest.mark.skipif(sys.platform == "win32", reason="has no /dev/stdin")
def test_the_standard_input_may_be_the_file(room: Path) -> None:
    before = Path("good").read_bytes()
    for name in ("-", "/dev/stdin"):
        with open("good", "rb") as stream:
            done = subprocess.run(
                [sys.executable, "-m", "hulltune", "convert", name, "good"], stdin=stream, capture_output=True
            )
        assert (done.returncode, b"would be overwritten" in done.stderr) == (2, True)
    assert Path("good").read_bytes() == before
