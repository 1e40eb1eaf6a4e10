"""The README's examples do what it says."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import subprocess
import textwrap
from pathlib import Path

import pytest

from tests.cli.running import run
from tests.pages import ROOT, Page

PAGE = Page("README.md")


def test_readme_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    PAGE.assert_examples_hold(at_least=2)


def test_the_quick_start_can_be_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    (block,) = re.findall(r"^```sh\n(.*?)^```$", PAGE.text, flags=re.DOTALL | re.MULTILINE)
    install, tune, *others = block.splitlines()
    assert shlex.split(install, comments=True) == ["pip", "install", "."]
    assert [shlex.split(line, comments=True) for line in others] == [["make", "demo"], ["make", "test"]]
    code, _, _ = run(capsys, *shlex.split(tune)[1:])
    assert code == 0
    found = json.loads((tmp_path / "weights.json").read_text(encoding="utf-8"))
    assert found["baseline"] > found["start_score"] > found["score"] > found["oracle"]  # tuning is what gains


@pytest.mark.skipif(shutil.which("make") is None, reason="needs make")
def test_the_demo_installs_nothing_for_tests(tmp_path: Path) -> None:
    steps = {
        target: subprocess.run(
            ["make", "--dry-run", target, f"VENV={tmp_path}"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        for target in ("demo", "test")
    }
    assert "examples/decoder/demo.py" in steps["demo"]
    assert "--group dev" in steps["test"]
    assert "--group dev" not in steps["demo"]


def test_the_commands_of_each_user_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Every command of the block for the four users runs on small files with the names that it gives."""
    (block,) = re.findall(r"^    # speech: .*?(?=^\S)", PAGE.text, flags=re.DOTALL | re.MULTILINE)
    users = [part.split("\n") for part in textwrap.dedent(block).strip().split("\n\n")]
    assert len(users) == 4
    assert all(len(lines) in (3, 4) and lines[0].startswith("# ") for lines in users)
    commands = [shlex.split(line)[1:] for lines in users for line in lines[1:] if line.startswith("hulltune ")]
    assert [words[0] for words in commands] == ["tune", "surface", "tune", "tune", "tune", "loop", "compare"]
    monkeypatch.chdir(tmp_path)
    write_inputs_of_users(tmp_path)
    for words in commands:
        code, _, error = run(capsys, *words)
        assert code == 0, (words, error)
    assert (tmp_path / "page.html").is_file()


def write_inputs_of_users(folder: Path) -> None:
    """Two lattices with references, lists, a table with marks, and a decoder that writes lists whatever the weights."""
    (folder / "lattices").mkdir()
    for name, wrong, right in (("u1", "yellow", "hello"), ("u2", "know", "no")):
        (folder / "lattices" / f"{name}.slf").write_text(
            f"UTTERANCE={name}\nN=3 L=3\nI=0 W=!NULL\nI=1 W={wrong}\nI=2 W={right}\n"
            "J=0 S=0 E=1 a=-1 l=-4\nJ=1 S=0 E=2 a=-2 l=-1\nJ=2 S=1 E=2 a=-1 l=-3\n",
            encoding="utf-8",
        )
    (folder / "text").write_text("u1 hello\nu2 no\n", encoding="utf-8")
    lists = "".join(
        f"{sentence} ||| {words} ||| lm={lm} tm={tm} ||| 0\n"
        for sentence in range(6)
        for words, lm, tm in (("the house is small", -4 - sentence, -2), ("a house is the small", -3, -1 - sentence))
    )
    (folder / "dev.nbest").write_text(lists, encoding="utf-8")
    (folder / "dev.en").write_text("the house is small\n" * 6, encoding="utf-8")
    (folder / "dev.de").write_text("das Haus ist klein\n" * 6, encoding="utf-8")
    rows = [f"q{n},{text},{value},{int(text == '4')}" for n in range(6) for text, value in (("4", -2 - n), ("5", -4))]
    (folder / "samples.csv").write_text("\n".join(["question,text,logprob,correct", *rows]) + "\n", encoding="utf-8")
    for name, scores in (("bm25", (9, 8, 1)), ("dense", (0.2, 0.9, 0.1))):
        lines = [f"{query} Q0 d{k} {k} {score} {name}\n" for query in (1, 2) for k, score in enumerate(scores)]
        (folder / f"{name}.run").write_text("".join(lines), encoding="utf-8")
    (folder / "qrels.txt").write_text("1 0 d1 1\n2 0 d0 2\n", encoding="utf-8")
    (folder / "a.ini").write_text("[weight]\nlm= 1.0\ntm= 0.5\n", encoding="utf-8")
    decoder = folder / "run"
    decoder.write_text("#!/bin/sh\ncat dev.nbest\n", encoding="utf-8")
    decoder.chmod(0o755)


def test_it_is_one_screen_with_a_picture_and_a_terminal() -> None:
    assert len(PAGE.text.splitlines()) <= 43  # 1,000 pixels at a width of 838, in GitHub's style
    assert max(len(line) for line in PAGE.text.splitlines() if line.startswith("    ")) <= 4 + 97  # nothing is cut off
    pictures = re.findall(r'<img src="(\S+)"', PAGE.text)
    assert pictures == ["docs/pictures/plane_small.png", "docs/pictures/terminal-scores.svg"]
    assert all((ROOT / picture).is_file() for picture in pictures)
