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
from hulltune.cli import main
from hulltune.tuning.comparison import COLUMNS, Comparison
from tests.cli.running import Shell

SIDES = "compare old.txt new.txt"


def of_lists() -> Comparison:
    return compare("lists.jsonl", "old.txt", "new.txt", metric="wer")


def as_json(found: Comparison) -> object:
    return json.loads(json.dumps(found.to_dict()))


def test_every_form_is_what_the_function_finds(folder: Path, shell: Shell) -> None:
    expected = of_lists()
    assert len(expected.changes) > 3
    assert shell.json(f"{SIDES} lists.jsonl -m WER") == as_json(expected)
    assert shell.json(f"{SIDES} bare.jsonl --ref lists.refs -m wer") == as_json(expected)
    out = shell(f"{SIDES} lists.jsonl -m wer")
    assert out == expected.summary() + "\n"
    assert out.count("[-") == out.count("-]") > 1
    assert "\x1b" not in out
    out = shell(f"{SIDES} lists.jsonl -m wer --most 2 --sort worst")
    assert out == expected.sorted("worst").summary(most=2) + "\n"
    assert max(map(len, out.splitlines())) <= 100
    out = shell(f"{SIDES} lists.jsonl -m wer --tsv --out c.tsv -o c.json -o c.txt")
    assert out == expected.tsv() == (folder / "c.tsv").read_text(encoding="utf-8")
    assert tuple(next(csv.reader(io.StringIO(out), delimiter="\t"))) == COLUMNS
    assert json.loads((folder / "c.json").read_text(encoding="utf-8")) == as_json(expected)
    assert (folder / "c.txt").read_text(encoding="utf-8") == expected.summary(most=None) + "\n"


@pytest.mark.parametrize(
    ("no_color", "term", "coloured"), [("", "xterm", True), ("1", "xterm", False), ("", "dumb", False)]
)
def test_colours_only_on_terminals_that_want_them(
    folder: Path, monkeypatch: pytest.MonkeyPatch, no_color: str, term: str, coloured: bool
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setenv("NO_COLOR", no_color)
    monkeypatch.setenv("TERM", term)
    monkeypatch.setattr(sys, "stdout", terminal)
    assert main([*SIDES.split(), "lists.jsonl", "-m", "wer", "--quiet"]) == 0
    assert ("\x1b[31m[-" in terminal.getvalue()) == coloured
    assert re.sub("\x1b\\[[0-9]*m", "", terminal.getvalue()) == of_lists().summary() + "\n"


def test_the_baseline_by_its_name(folder: Path, shell: Shell) -> None:
    found = shell.json("compare baseline new.txt lists.jsonl -m wer")
    scored = shell.json("score lists.jsonl -w new.txt -m wer")
    assert (found["old_score"], found["new_score"]) == (scored["baseline"], scored["score"])
    assert found["counts"]["old"] == scored["baseline_counts"]


def test_without_references_only_picks_are_compared(folder: Path, shell: Shell) -> None:
    expected = compare("bare.jsonl", "old.txt", "new.txt", metric=None)
    assert shell(f"{SIDES} bare.jsonl") == expected.summary() + "\n"
    assert "no references: picks are compared without a metric" in shell.said


def test_a_metric_that_waits_asks_in_a_file(folder: Path, shell: Shell) -> None:
    for _ in range(2):  # for the picks of each of the two weights
        shell(f"{SIDES} bare.jsonl --metric ask", code=3)
        assert "then run: hulltune answers questions.jsonl --store answers.sqlite, and this again" in shell.said
        questions = [json.loads(line) for line in Path("questions.jsonl").read_text(encoding="utf-8").splitlines()]
        answered = [{**question, "answer": len(question["output"])} for question in questions]
        Path("questions.jsonl").write_text("".join(f"{json.dumps(each)}\n" for each in answered), encoding="utf-8")
        shell("answers questions.jsonl --store answers.sqlite")
    found = shell.json(f"{SIDES} bare.jsonl --metric ask")
    for name in ("old", "new"):
        texts = rerank("bare.jsonl", f"{name}.txt")
        assert found[f"{name}_score"] == pytest.approx(sum(map(len, texts)) / len(texts))


def test_score_counts_errors_in_text_and_json(folder: Path, shell: Shell) -> None:
    scoring = "score lists.jsonl --weights new.txt --metric WER --also CER,MER,TER,BLEU"
    found = shell.json(scoring)
    for name in ("wer", "cer", "mer", "ter"):
        signature = next(each for each in found["counts"] if each.startswith(f"{name}|"))
        expected = count_errors("lists.jsonl", "new.txt", metric=name)
        assert found["counts"][signature] == json.loads(json.dumps(vars(expected)))
    assert len(found["counts"]) == 4
    out = shell(scoring)
    assert max(map(len, out.splitlines())) <= 100
    wer = count_errors("lists.jsonl", "new.txt")
    assert out.startswith(f"{found['score']:.4f} = {wer.percent:.2f} %  wer|")
    assert str(wer) in " ".join(out.split())
    assert shell(scoring.lower()) == out


def test_rerank_tells_index_score_and_features(folder: Path, shell: Shell) -> None:
    picks = rerank("lists.jsonl", "new.txt").picks
    out = shell("rerank lists.jsonl --weights new.txt --as jsonl")
    for pick, line in zip(picks, out.splitlines(), strict=True):
        record = {"text": pick.text, "index": pick.index, "features": dict(pick.features), "score": pick.score}
        assert json.loads(line) == {"id": pick.id, "candidates": [record]}
    out = shell("rerank lists.jsonl --weights new.txt --as tsv")
    for pick, row in zip(picks, csv.DictReader(io.StringIO(out), delimiter="\t"), strict=True):
        assert (row["id"], row["index"], row["text"]) == (str(pick.id), str(pick.index), pick.text)
        assert float(row["score"]) == pick.score
        assert {name: float(row[name]) for name in pick.features} == dict(pick.features)


def test_tables_quote_what_would_break_them(folder: Path, shell: Shell) -> None:
    records = [{"candidates": [{"text": 'a\t"b"\nc', "features": {"f0": 1.0}}]}, {"candidates": []}]
    Path("odd.jsonl").write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
    Path("one.txt").write_text("f0 1\n", encoding="utf-8")
    out = shell("rerank odd.jsonl --weights one.txt --as tsv")
    assert list(csv.reader(io.StringIO(out), delimiter="\t")) == [
        ["id", "index", "score", "text", "f0"], ["0", "0", "1.0", 'a\t"b"\nc', "1.0"], ["1", "", "", "", ""],
    ]  # fmt: skip
