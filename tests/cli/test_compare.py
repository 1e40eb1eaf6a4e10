"""``hulltune compare`` and the picks of ``rerank``: every form of the answer agrees with the functions behind it."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path

import pytest

from hulltune import compare, count_errors, rerank
from hulltune.formats import write_jsonl
from hulltune.tuning.comparison import COLUMNS
from tests.cli.running import run, run_json
from tests.tuning.corpora import random_lists, random_records


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_jsonl(random_lists(1), tmp_path / "lists.jsonl")
    bare = [{key: value for key, value in record.items() if key != "refs"} for record in random_records(1)]
    (tmp_path / "bare.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in bare), encoding="utf-8")
    (tmp_path / "refs").write_text("".join(f"{record['refs'][0]}\n" for record in random_records(1)), encoding="utf-8")
    (tmp_path / "old.txt").write_text("f0 1\nf1 0.25\nf2 -0.5\n", encoding="utf-8")
    (tmp_path / "new.txt").write_text("f0 -0.25\nf1 1\nf2 1\n", encoding="utf-8")
    return tmp_path


SIDES = ("compare", "old.txt", "new.txt", "lists.jsonl", "--metric", "WER")


def test_json_is_what_the_function_finds(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = compare("lists.jsonl", "old.txt", "new.txt", metric="wer")
    assert run_json(capsys, *SIDES, "--json") == json.loads(json.dumps(expected.to_dict()))
    by_file = run_json(capsys, "compare", "old.txt", "new.txt", "bare.jsonl", "--ref", "refs", "-m", "wer", "--json")
    assert by_file == json.loads(json.dumps(expected.to_dict()))


def test_the_readable_view_and_its_limits(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = compare("lists.jsonl", "old.txt", "new.txt", metric="wer")
    assert len(expected.changes) > 3
    code, out, _ = run(capsys, *SIDES)
    assert (code, out) == (0, expected.summary() + "\n")
    assert out.count("[-") == out.count("-]") > 1
    assert "\x1b" not in out
    code, out, _ = run(capsys, *SIDES, "--most", "2", "--sort", "worst")
    assert (code, out) == (0, expected.sorted("worst").summary(most=2) + "\n")
    assert max(map(len, out.splitlines())) <= 100


@pytest.mark.parametrize(
    ("no_color", "term", "coloured"), [("", "xterm", True), ("1", "xterm", False), ("", "dumb", False)]
)
def test_colours_only_on_terminals_that_want_them(
    data: Path, monkeypatch: pytest.MonkeyPatch, no_color: str, term: str, coloured: bool
) -> None:
    from hulltune.cli import main

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main([*SIDES, "--quiet"]) == 0
    assert ("\x1b[31m[-" in terminal.getvalue()) == coloured
    plain = re.sub("\x1b\\[[0-9]*m", "", terminal.getvalue())
    assert plain == compare("lists.jsonl", "old.txt", "new.txt", metric="wer").summary() + "\n"


def test_tables_and_files(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    expected = compare("lists.jsonl", "old.txt", "new.txt", metric="wer")
    code, out, _ = run(capsys, *SIDES, "--tsv", "--out", "c.tsv", "-o", "c.json", "-o", "c.txt")
    assert (code, out) == (0, expected.tsv())
    assert (data / "c.tsv").read_text(encoding="utf-8") == out
    assert json.loads((data / "c.json").read_text(encoding="utf-8")) == json.loads(json.dumps(expected.to_dict()))
    assert (data / "c.txt").read_text(encoding="utf-8") == expected.summary(most=None) + "\n"
    assert tuple(next(csv.reader(io.StringIO(out), delimiter="\t"))) == COLUMNS


def test_the_baseline_by_its_name(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, "compare", "baseline", "new.txt", "lists.jsonl", "-m", "wer", "--json")
    scored = run_json(capsys, "score", "lists.jsonl", "-w", "new.txt", "-m", "wer", "--json")
    assert (found["old_score"], found["new_score"]) == (scored["baseline"], scored["score"])
    assert found["counts"]["old"] == scored["baseline_counts"]


def test_without_references_only_picks_are_compared(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "compare", "old.txt", "new.txt", "bare.jsonl")
    assert code == 0
    assert out == compare("bare.jsonl", "old.txt", "new.txt", metric=None).summary() + "\n"
    assert "no references: picks are compared without a metric" in err
    code, _, err = run(capsys, "compare", "old.txt", "new.txt", "bare.jsonl", "--metric", "bleu")
    assert (code, err.count("\n")) == (2, 1)
    assert "no references" in err


def test_a_metric_that_waits_asks_in_a_file(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("compare", "old.txt", "new.txt", "bare.jsonl", "--metric", "ask")
    for _ in range(2):  # for the picks of each of the two weights
        code, _, err = run(capsys, *arguments)
        assert code == 3
        assert "then run: hulltune answers questions.jsonl --store answers.sqlite, and this again" in err
        questions = [json.loads(line) for line in Path("questions.jsonl").read_text(encoding="utf-8").splitlines()]
        answered = [{**question, "answer": len(question["output"])} for question in questions]
        Path("questions.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in answered), encoding="utf-8")
        assert run(capsys, "answers", "questions.jsonl", "--store", "answers.sqlite")[0] == 0
    found = run_json(capsys, *arguments, "--json")
    for name in ("old", "new"):
        texts = rerank("bare.jsonl", f"{name}.txt")
        assert found[f"{name}_score"] == pytest.approx(sum(map(len, texts)) / len(texts))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("old.txt", "new.txt"), "arguments are required: LISTS"),
        (("gone.txt", "new.txt", "lists.jsonl"), "gone.txt: no such file"),
        (("old.txt", "refs", "lists.jsonl"), "refs:1"),
        (("old.txt", "new.txt", "lists.jsonl", "--json", "--tsv"), "argument --tsv: not allowed with argument --json"),
        (("old.txt", "new.txt", "lists.jsonl", "--out", "c.csv"), "--out: 'c.csv' has no known suffix"),
        (("old.txt", "new.txt", "lists.jsonl", "--out", "old.txt"), "--out: old.txt is what OLD reads"),
        (("old.txt", "new.txt", "lists.jsonl", "--sort", "wrost"), "did you mean 'worst'"),
        (("old.txt", "new.txt", "lists.jsonl", "--metric", "WRE"), "unknown metric 'WRE'; did you mean 'wer'"),
    ],
)
def test_mistakes_are_told_in_a_line(
    data: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    before = (data / "old.txt").read_bytes()
    code, out, err = run(capsys, "compare", *arguments)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert message in err
    assert (data / "old.txt").read_bytes() == before


def test_score_counts_errors_in_text_and_json(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ("score", "lists.jsonl", "--weights", "new.txt", "--metric", "WER", "--also", "CER,MER,TER,BLEU")
    found = run_json(capsys, *arguments, "--json")
    for name in ("wer", "cer", "mer", "ter"):
        signature = next(each for each in found["counts"] if each.startswith(f"{name}|"))
        expected = count_errors("lists.jsonl", "new.txt", metric=name)
        assert found["counts"][signature] == json.loads(json.dumps(vars(expected)))
    assert len(found["counts"]) == 4
    code, out, _ = run(capsys, *arguments)
    assert code == 0
    lines = out.splitlines()
    assert max(map(len, lines)) <= 100
    wer = count_errors("lists.jsonl", "new.txt")
    assert lines[0].startswith(f"{found['score']:.4f} = {wer.percent:.2f} %  wer|")
    assert str(wer) in " ".join(out.split())
    assert run(capsys, *(word.lower() if word in ("WER", "CER,MER,TER,BLEU") else word for word in arguments))[1] == out


def test_rerank_tells_index_score_and_features(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    picks = rerank("lists.jsonl", "new.txt").picks
    code, out, _ = run(capsys, "rerank", "lists.jsonl", "--weights", "new.txt", "--as", "jsonl")
    assert code == 0
    for pick, line in zip(picks, out.splitlines(), strict=True):
        record = {"text": pick.text, "index": pick.index, "features": dict(pick.features), "score": pick.score}
        assert json.loads(line) == {"id": pick.id, "candidates": [record]}
    code, out, _ = run(capsys, "rerank", "lists.jsonl", "--weights", "new.txt", "--as", "tsv")
    assert code == 0
    rows = list(csv.DictReader(io.StringIO(out), delimiter="\t"))
    for pick, row in zip(picks, rows, strict=True):
        assert (row["id"], row["index"], row["text"]) == (str(pick.id), str(pick.index), pick.text)
        assert float(row["score"]) == pick.score
        assert {name: float(row[name]) for name in pick.features} == dict(pick.features)
    code, out, _ = run(capsys, "rerank", "lists.jsonl", "--weights", "new.txt", "--as", "tsv", "--best", "3")
    assert [row["text"] for row in csv.DictReader(io.StringIO(out), delimiter="\t")][::3] == [
        pick.text for pick in picks
    ]


def test_tables_quote_what_would_break_them(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [{"candidates": [{"text": 'a\t"b"\nc', "features": {"f0": 1.0}}]}, {"candidates": []}]
    Path("odd.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    Path("one.txt").write_text("f0 1\n", encoding="utf-8")
    code, out, _ = run(capsys, "rerank", "odd.jsonl", "--weights", "one.txt", "--as", "tsv")
    assert code == 0
    assert list(csv.reader(io.StringIO(out), delimiter="\t")) == [
        ["id", "index", "score", "text", "f0"], ["0", "0", "1.0", 'a\t"b"\nc', "1.0"], ["1", "", "", "", ""],
    ]  # fmt: skip
