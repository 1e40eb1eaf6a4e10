"""The commands of docs/tuning.md, docs/forests.md and docs/plots.md are run, and the pictures are in the gallery."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest

from hulltune import ForestBuilder, write
from hulltune.cli import main
from hulltune.cli.commands import COMMANDS
from hulltune.formats import write_jsonl
from hulltune.formats.forest_files import NamedForest
from hulltune.formats.forest_text import write_forest_text
from hulltune.formats.moses import write_moses
from hulltune.formats.write import forests_of_lists
from hulltune.names import WRITERS
from hulltune.simulate import simulated_task
from tests.pages import DOCS, ROOT, Page

TUNING, FORESTS, PLOTS = Page("docs/tuning.md"), Page("docs/forests.md"), Page("docs/plots.md")


@pytest.fixture(autouse=True)
def _in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_the_commands_of_tuning(capsys: pytest.CaptureFixture[str]) -> None:
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
    for words in TUNING.commands():
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


def test_the_commands_of_forests(capsys: pytest.CaptureFixture[str]) -> None:
    rng = np.random.default_rng(1)
    forests = []
    for name in ("one", "two"):
        builder = ForestBuilder(feature_names=["am", "lm"])
        builder.add_edge(0, features=[0.0, 0.0], output=[])
        for place in range(4):
            for word in "abc":
                builder.add_edge(place + 1, [place], features=rng.normal(size=2).tolist(), output=[0, word])
        forests.append(NamedForest(builder.build(root=4), name))
    write_forest_text("dev.forest", forests)
    Path("dev.txt").write_text("a b c a\nb b b a\n", encoding="utf-8")
    Path("weights.json").write_text(json.dumps({"am": 1.0, "lm": 0.5}), encoding="utf-8")
    assert {words[0] for words in FORESTS.commands()} == {"kbest", "score", "convert", "info"}
    for words in FORESTS.commands():
        assert main(words) == 0, (words, capsys.readouterr().err)
    assert sorted(entry.name for entry in Path("lattices").iterdir()) == ["one.slf", "two.slf"]
    assert len(Path("sample.nbest").read_text(encoding="utf-8").splitlines()) == 400


def test_every_format_is_on_the_page() -> None:
    for name in WRITERS:
        assert f"`{name}`" in FORESTS.text, name


def test_the_commands_of_plots(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(simulated_task(sentences=20, candidates=10, seed=1).lists, "dev.jsonl")
    for words in PLOTS.commands():
        assert main(words) == 0, (words, capsys.readouterr().err)
    made = {path.name for path in tmp_path.iterdir()}
    assert made == {"dev.jsonl", "weights.json", "surface.png", "plane.csv", "sensitivity.png"}


def test_the_pictures_of_the_page_are_in_the_gallery() -> None:
    shown = re.findall(r"!\[.*?\]\(pictures/(\w+)\.png\)", PLOTS.text)
    assert len(shown) == 6
    for name in shown:
        assert (DOCS / "pictures" / f"{name}.png").exists()
        assert (ROOT / "examples" / "gallery" / f"{name}.py").exists()
