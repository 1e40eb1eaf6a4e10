"""Wrong usage and wrong input: one line on standard error, exit code 2, and never a traceback."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

from hulltune.formats import write_jsonl
from tests.cli.conftest import GOOD
from tests.cli.running import Shell
from tests.tuning.corpora import random_lists

FAULTS = [
    ("tnue good --ref refs", "unknown command 'tnue'; did you mean 'tune'?"),
    ("tune", "missing argument 'LISTS…'"),
    ("tune good --ref refs --metrc bleu", "--metric'"),
    ("tune good --ref", "option '--ref' requires an argument (see hulltune tune --help)"),
    ("tune good --ref refs --quite", "--quiet'"),
    ("demo bash", "got unexpected extra argument (bash) (see hulltune demo --help)"),
    ("surface good -r refs -w w.txt --feature x --sensitivity", "argument --sensitivity: not allowed with argument"),
    ("tune good --ref refs --metric blue", "unknown metric 'blue'; did you mean 'bleu'?"),
    ("tune good --ref refs --seed x", "got 'x'; expected a whole number"),
    ("tune good --ref refs --fix lm", "got 'lm'; expected NAME=NUMBER"),
    ("tune good --ref refs --fix lm=1", "unknown feature in fix: 'lm'"),
    ("tune good --ref refs --fix y=1 --fix y=2", "--fix: 'y' is given twice"),
    ("tune good --ref refs --search randm", "unknown search 'randm'; did you mean 'random'?"),
    ("tune good --ref refs --metric comet", "unknown metric 'comet' (known: "),
    ("tune good --ref refs --format xml", "unknown format 'xml' (known: "),
    ("tune good --ref refs --policy mid", "unknown policy 'mid'"),
    ("surface good --ref refs -w w.txt --features y", "--feature NAME takes a feature of the data"),
    ("surface good --ref refs -w w.txt --plane x_0,y --out a.png", "got '--out'; expected --plane NAME NAME, with a"),
    ("tune good --ref refs --features wrds", "unknown built-in feature 'wrds'; did you mean 'words'?"),
    ("tune good --ref refs --missing 1", "missing: 1.0 is for scores of rankers; expected 0"),
    ("tune good --ref refs --sign y=*", "the sign of 'y' is '*'; expected '+', '-' or 'any'"),
    ("tune good --ref refs --on-error ignore", "unknown way to handle errors 'ignore'"),
    ("tune good --ref refs --format mose", "unknown format 'mose'; did you mean 'moses'?"),
    ("tune good --ref refs --out w.jsn", "--out: 'w.jsn' has no known suffix"),
    ("tune good --ref refs --out no/w.json", "there is no folder no"),
    ("tune good --ref refs --heldout-ref refs", "no held-out data; give --heldout"),
    ("tune good --ref refs --folds 9", "folds: expected 2 to 2"),
    ("tune missing --ref refs --metric blue", "unknown metric 'blue'; did you mean 'bleu'?"),
    ("tune missing --ref refs --also chr", "unknown metric 'chr'; did you mean 'chrf'?"),
    ("tune missing --ref refs --scale l3", "unknown scale 'l3'"),
    ("tune missing --ref empty", "empty: the file is empty"),
    ("tune good", "no references"),
    ("tune missing --ref refs", "missing: no such file"),
    ("tune good --ref missing", "missing: no such file"),
    ("tune empty --ref refs", "empty: the file is empty"),
    ("tune good --ref empty", "empty: the file is empty"),
    ("tune good --ref refs --start missing", "missing: no such file"),
    ("tune good --ref refs --threads 0", "threads"),
    ("score good --ref refs", "--weights: expected a file of weights; only --oracle does without"),
    ("score good --ref refs --weights refs", "refs:1: "),
    ("score good --ref refs --weights empty", "empty: no weights in it"),
    ("rerank good --weights w.txt --as txt", "unknown output 'txt'; did you mean 'text'?"),
    ("rerank good --weights w.txt --best 0", "got '0'; expected a whole number of at least 1"),
    ("rerank good --weights w.txt --out no/x", "--out: no/x: there is no folder no"),
    (
        "surface good --ref refs --weights w.txt",
        "one of the arguments --feature --to --plane --sensitivity is required",
    ),
    ("convert good", "missing argument 'LISTS…'"),
    ("surface few.jsonl --metric wer --weights few.w --plane f1 f9", "f9"),
    ("surface few.jsonl --metric wer --weights few.w --plane f1 f1", "two different features"),
    ("surface few.jsonl --metric wer --weights few.w --plane f1 f2 --grid 6", "6x6"),
    ("surface few.jsonl --metric wer --weights few.w --plane f1 f2 --grid 1x6", "at least 2"),
    ("surface few.jsonl --metric wer --weights few.w --plane f1 f2 --range=0,1", "LEFT,RIGHT,BOTTOM,TOP"),
    ("surface few.jsonl --metric wer --weights few.w --plane f1 f2 --out x.gif", "has no known suffix"),
    ("surface few.jsonl --metric wer --weights few.w --plane f1 f2 --tolerance 1", "only for --sensitivity"),
    ("surface few.jsonl --metric wer --weights few.w --sensitivity --range=0,1", "only for a line or a plane"),
    ("surface few.jsonl --metric wer --weights few.w --sensitivity --tolerance -1", "a number of at least 0"),
    ("surface few.jsonl --metric wer --weights few.w --sensitivity --feature f1", "not allowed with argument"),
    ("surface few.jsonl --metric wer --weights few.w --feature f1 --grid 6x6", "--plane"),
    ("surface few.jsonl --metric wer --weights few.w --feature f9", "unknown feature 'f9'"),
    ("surface few.jsonl --metric wer --weights few.w --feature f1 --range 2,1", "expected LOW,HIGH"),
    (
        "tune few.jsonl --metric wer --certify --directions 4",
        "unknown option of the search 'certified'",
    ),
    (
        "tune few.jsonl --metric wer --search powell --directions 4",
        "unknown option of the search 'powell'",
    ),
    (
        "tune few.jsonl --metric wer --certify --restarts 4",
        "unknown option of the search 'certified': 'restarts' (known: gap, time)",
    ),
    ("tune few.jsonl --metric wer --certify --search powell", "--certify: means --search certified"),
    ("tune few.jsonl --metric wer --certify --min f0=2 --max f0=1", "'f0': no weight lies between 2 and 1"),
    ("tune few.jsonl --metric wer --time 1", "--time: limits a certified search"),
    ("tune few.jsonl --metric wer --add refs", "option '--add' requires 2 arguments"),
    ("compare old.txt new.txt", "missing argument 'LISTS…'"),
    ("compare gone.txt new.txt lists.jsonl", "gone.txt: no such file"),
    ("compare old.txt lists.refs lists.jsonl", "lists.refs:1"),
    ("compare old.txt new.txt lists.jsonl --json --tsv", "argument --tsv: not allowed with argument --json"),
    ("compare old.txt new.txt lists.jsonl --out c.csv", "--out: 'c.csv' has no known suffix"),
    ("compare old.txt new.txt lists.jsonl --out old.txt", "--out: old.txt is what OLD reads"),
    ("compare old.txt new.txt lists.jsonl --sort wrost", "did you mean 'worst'"),
    ("compare old.txt new.txt lists.jsonl --metric WRE", "unknown metric 'WRE'; did you mean 'wer'"),
    ("compare old.txt new.txt bare.jsonl --metric bleu", "no references"),
    ("kbest dev.forest --weights dev.w --k 2 --sample 2", "--k, --sample: give one of them"),
    ("kbest dev.forest --weights dev.w --temperature 2", "--temperature: only for random derivations; give --sample"),
    ("kbest dev.forest --weights dev.w --seed 2", "--seed: only for random derivations; give --sample"),
    ("kbest dev.forest --weights dev.w --k 0", "got '0'; expected a whole number of at least 1"),
    ("kbest dev.forest --weights dev.w --sample 3 --temperature 0", "temperature: expected a number above 0"),
    ("kbest dev.forest --weights dev.w --as text", "--as text: only for one derivation"),
    ("kbest dev.forest --weights dev.w --as mosses", "moses"),
    ("convert dev.forest out.xyz", "its name does not tell a format"),
    ("convert dev.forest out --to slff", "slf"),
    ("convert dev.forest out --to moses", "with hulltune kbest"),
    ("convert dev.forest out.hull --beam 3", "pruning needs weights"),
    ("convert dev.forest out.hull --weights dev.w", "weights are only for pruning"),
    ("convert dev.forest one.slf --to slf", "give a folder"),
    ("convert none.forest out.hull", "no such file"),
    ("info good --ids name", "--ids: is for forests"),
    ("info forests --ids nane", "did you mean 'name'"),
    ("info forests --features words,rank", "--features: rank is for lists; forests take words"),
    ("info forests --on-error skip", "--on-error: is for lists"),
    ("info forests --negate lmm", "did you mean 'lm'"),
    ("info forests --format slf", "1.hg.gz"),
    ("info nothing/*.hg", "no file matches this pattern"),
    ("score forests --ref forests.refs --weights w.txt", "has no weight for any feature"),
    ("rerank good --weights w.txt --best 3 --as text", "only for the best candidate"),
    ("tune few.jsonl -m wer --report page.pdf", "--report: 'page.pdf' has no known suffix"),
    ("tune few.jsonl -m wer --report none/page.html", "there is no folder none"),
    ("tune few.jsonl -m ask --report page.html", "--report: ask waits for answers"),
    ("report few.jsonl -m wer -w few.w -o page.txt", "--out: 'page.txt' has no known suffix; expected .html"),
    ("report few.jsonl -m wer -w few.w", "--out, --open: expected the page to write, or --open"),
    ("report few.jsonl -m wer -w few.w -o page.html --plane f0 lm", "unknown feature 'lm'"),
    ("report few.jsonl -m wer -w few.w -o page.html --megabytes 7", "megabytes: expected a number from 0.2"),
]


@pytest.mark.parametrize(("line", "message"), FAULTS)
def test_one_clear_line(folder: Path, shell: Shell, line: str, message: str) -> None:
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    shell.refuses(line, message)
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


@pytest.mark.parametrize(
    "line",
    [
        "1 ||| e ||| x= nan 1 y= 1 ||| 0",
        "1 ||| e ||| x= one 1 y= 1 ||| 0",
        "1 ||| e ||| x= 1 inf y= 1 ||| 0",
        "1 ||| e ||| x= 1 y= 1 ||| 0",
        "1 ||| e ||| x= 1 1 ||| 0",
        "1 ||| e",
        "x ||| e |",
    ],
)
def test_a_line_at_fault_is_named(folder: Path, shell: Shell, line: str) -> None:
    """NaN and words are no numbers, a missing feature shifts no column, a cut-off line is not half read."""
    (folder / "lists").write_text(f"{GOOD[0]}\n{line}\n", encoding="utf-8")
    shell.refuses("tune lists --ref refs", "lists:2: ")


def test_too_few_references_and_a_missing_sentence(folder: Path, shell: Shell) -> None:
    """Line i is sentence i: a sentence without hypotheses keeps its line, and none may lack a reference."""
    (folder / "lists").write_text(f"{GOOD[0]}\n{GOOD[1]}\n{GOOD[2].replace('1 |||', '2 |||', 1)}\n", encoding="utf-8")
    shell.refuses("tune lists --ref refs", "only 2 reference lines")
    (folder / "refs").write_text("a b\nmissing\nd\n", encoding="utf-8")
    assert shell("score lists --ref refs --weights w.txt --metric accuracy").startswith("0.6667  accuracy")


def test_a_blank_line_is_a_fault_like_any_other(folder: Path, shell: Shell) -> None:
    (folder / "lists").write_text("\n\n".join(GOOD) + "\n", encoding="utf-8")
    shell.refuses("info lists", "lists:2: blank line")
    shell("info lists --on-error skip")
    assert "skipped 2 faults" in shell.said


def test_an_omitted_labelled_feature_is_0(folder: Path, shell: Shell) -> None:
    (folder / "lists").write_text("0 ||| a b ||| lm=5 tm=1 ||| 0\n0 ||| a c ||| tm=1 ||| 0\n", encoding="utf-8")
    (folder / "w.txt").write_text("lm -1\ntm 0\n", encoding="utf-8")
    assert shell("rerank lists --weights w.txt --quiet") == "a c\n"


def test_a_damaged_packed_file_is_refused(folder: Path, shell: Shell) -> None:
    shell("convert dev.forest p.hull --quiet")
    (folder / "p.hull").write_bytes((folder / "p.hull").read_bytes()[:-100])
    shell.refuses("kbest p.hull --weights dev.w --quiet", "cut off")


def test_an_unexpected_failure_is_one_line_too(folder: Path, shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> None:
        raise ZeroDivisionError("something\nodd")

    monkeypatch.setattr(importlib.import_module("hulltune.formats.read"), "read_with", fail)
    shell("info good", code=1)
    told = "the run failed: ZeroDivisionError: something odd; run it again with --debug for the traceback"
    assert shell.said == f"hulltune: {told}\n"
    for line in ("info good --debug", "--debug info good"):
        shell(line, code=1)
        assert "Traceback" in shell.said
    assert "--debug    Show the Python traceback if the run fails." in shell("--help")


def test_a_metric_that_asks_ends_with_its_own_code(folder: Path, shell: Shell) -> None:
    asking = "tune good --ref refs --metric ask --store s.sqlite --restarts 0 --quiet"
    shell(asking, code=3)
    assert "the questions are in questions.jsonl" in shell.said
    out = shell(f"{asking} --questions -", code=3)
    assert out == (folder / "questions.jsonl").read_text(encoding="utf-8")
    assert all(json.loads(line)["answer"] is None for line in out.splitlines())
    assert "the questions are on standard output" in shell.said
    assert not (folder / "-").exists()


def test_python_m_and_a_reader_that_leaves(folder: Path) -> None:
    write_jsonl(random_lists(1, sentences=3000, candidates=2), folder / "long.jsonl")
    (folder / "w.txt").write_text("f0 1\nf1 1\nf2 1\n", encoding="utf-8")
    command = f"{sys.executable} -m hulltune rerank long.jsonl --weights w.txt --best 2 | head -1"
    done = subprocess.run(["bash", "-o", "pipefail", "-c", command], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0
    assert done.stdout.startswith("0 ||| ")
    assert "rror" not in done.stderr
