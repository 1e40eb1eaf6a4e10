"""The commands of docs/tuning.md are run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hulltune.cli import main
from hulltune.cli.commands import COMMANDS
from hulltune.formats import write_jsonl
from hulltune.formats.forest_text import write_forest_text
from hulltune.formats.moses import write_moses
from hulltune.formats.write import forests_of_lists
from hulltune.simulate import simulated_task
from tests.pages import DOCS, Page

PAGE = Page("docs/tuning.md")


def test_the_examples_for_the_command_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, seed in (("dev", 1), ("test", 2)):
        task = simulated_task(sentences=20, candidates=10, seed=seed)
        write_jsonl(task.lists, f"{name}.jsonl")
        write_moses(task.lists, f"{name}.nbest")
        if name == "dev":
            Path("forests").mkdir()
            for number, forest in enumerate(forests_of_lists(task.lists), 1):
                write_forest_text(f"forests/{number}.hg", [forest])
        Path(f"{name}.txt").write_text("".join(f"{text}\n" for (text,) in task.references), encoding="utf-8")
    columns = [
        ("question", "response", "logprob", "meta_model", "correct"),
        ("a", "4", -2.0, 0, 1),
        ("a", "5", -1.0, 1, 0),
    ]
    columns += [("b", "7", -3.0, 0, 0), ("b", "8", -1.5, 1, 1)]
    lines = [",".join(map(str, row)) for row in columns]
    Path("candidates.csv").write_text("\n".join(["id,text,logprob,length,correct", *lines[1:]]), encoding="utf-8")
    records = [json.dumps(dict(zip(columns[0], row, strict=True))) for row in columns[1:]]
    Path("samples.jsonl").write_text("\n".join(records), encoding="utf-8")
    quickly = {"tune": ["--restarts", "1"], "demo": ["--sentences", "10", "--candidates", "5"]}
    for words in PAGE.commands():
        if "--folds" in words and "candidates.csv" in words:
            words[words.index("--folds") + 1] = "2"
        waits = 3 if "ask" in words else 0
        assert main([*words, *quickly.get(words[0], [])]) == waits, (words, capsys.readouterr().err)
        if waits:  # somebody answers
            questions = Path("questions.jsonl").read_text(encoding="utf-8")
            Path("questions.jsonl").write_text(questions.replace('"answer": null', '"answer": 3'), encoding="utf-8")
        if "weights.ini" in words and "--out" in words and words[0] == "tune":
            # Not the same weights as the first: the surface between them needs a way.
            Path("weights.ini").write_text("[weight]\nforward= 1.0\nbackward= 0.5\n", encoding="utf-8")
    assert len(Path("test.best.txt").read_text(encoding="utf-8").splitlines()) == 20


def test_every_command_is_on_some_page() -> None:
    pages = [Page(f"docs/{path.name}") for path in DOCS.glob("*.md")]
    assert {words[0] for page in pages for words in page.commands()} == set(COMMANDS)
