"""What the answer of ``tune`` tells of the best that is possible, and of a search that ended early."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hulltune import write
from hulltune.cli import main
from hulltune.simulate import simulated_task
from tests.tuning.corpora import random_lists


@pytest.fixture
def lists(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    write(random_lists(5, features=2), "lists.jsonl")
    return "lists.jsonl"


def test_a_bound_beside_an_oracle_that_is_not_exact(lists: str, capsys: pytest.CaptureFixture[str]) -> None:
    write(simulated_task(sentences=12, candidates=8, seed=1).lists, lists)
    assert main(["tune", lists, "--metric", "bleu", "--restarts", "3", "--json", "--quiet"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["oracle"] < found["oracle_bound"]
    assert main(["tune", lists, "--metric", "bleu", "--restarts", "3", "--quiet"]) == 0
    told = f"the best picks (greedy, all candidates); none can beat {found['oracle_bound']:.2f}\n"
    assert told in capsys.readouterr().out
    assert main(["score", lists, "--oracle", "--metric", "bleu", "--json", "--quiet"]) == 0
    alone = json.loads(capsys.readouterr().out)
    assert (alone["score"], alone["bound"], alone["exact"]) == (found["oracle"], found["oracle_bound"], False)
    assert main(["info", lists, "--metric", "bleu", "--json"]) == 0
    described = json.loads(capsys.readouterr().out)["scores"]
    assert (described["oracle"], described["oracle_bound"]) == (alone["score"], alone["bound"])


def test_no_bound_beside_an_exact_oracle(lists: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", lists, "--metric", "wer", "--restarts", "3", "--quiet"]) == 0
    assert "the best picks (exact, all candidates)\n" in capsys.readouterr().out


def test_a_search_that_ended_early_says_why(lists: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", lists, "--metric", "wer", "--restarts", "60", "--quiet"]) == 0
    assert "\nended early: " in capsys.readouterr().out
    assert main(["tune", lists, "--metric", "wer", "--restarts", "3", "--json", "--quiet"]) == 0
    assert json.loads(capsys.readouterr().out)["ended"] is None
