"""The commands end to end, in this process, over lists and over forests: what they print, and what they write."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import numpy as np
import pytest
from jiwer import wer

from hulltune import LineCma, TuneResult, read, read_weights, tune
from tests.cli.running import Shell

QUICK = "--metric wer --restarts 2 --directions 4 --threads 1"


@pytest.mark.parametrize("data", ["lists", "forests"])
def test_the_calling_convention_of_scripts(folder: Path, shell: Shell, data: str) -> None:
    """A result is that of the library, in every format of weights, and scoring, reranking and jiwer agree with it."""
    files = "lists.moses" if data == "lists" else "forests"
    judged = f"{files} --ref {data}.refs"
    found = shell.json(f"tune {judged} {QUICK} --also cer --seed 3 --out w.json --out w.ini --out w.txt")
    assert {"score", "baseline", "oracle", "weights", "metric", "seed", "seconds", "line_searches"} <= found.keys()
    assert (found["seed"], found["sentences"]) == (3, 12)
    search = LineCma(restarts=2, directions=4)
    result = tune(files, f"{data}.refs", metric="wer", search=search, seed=3, also=["cer"])
    assert found["weights"] == result.weights
    assert found["others"] == {name: list(pair) for name, pair in result.others.items()}
    assert read_weights("w.json") == read_weights("w.ini") == read_weights("w.txt") == found["weights"]
    assert (folder / "w.ini").read_text(encoding="utf-8").startswith("[weight]\n")
    assert TuneResult.load("w.json").oracle_kind == found["oracle_kind"]
    assert not [path.name for path in folder.iterdir() if path.name.startswith(".")]
    scored = shell.json(f"score {judged} --weights w.json --metric wer")
    assert (scored["score"], scored["metric"]) == (found["score"], found["metric"])
    assert (scored["baseline"] is None) == (data == "forests")
    text = shell(f"score {judged} --weights w.txt --metric wer --also cer,bleu")
    assert text.startswith(f"{found['score']:.4f} = {100 * found['score']:.2f} %  wer|")
    named = [word.partition("|")[0] for line in text.splitlines() for word in line.split() if "|version:" in word]
    assert named == ["wer", "cer", "bleu", *["wer"] * (data == "lists")]
    best = shell(f"rerank {files} --weights w.txt")
    references = (folder / f"{data}.refs").read_text(encoding="utf-8").splitlines()
    assert wer(references, best.splitlines()) == pytest.approx(found["score"], abs=1e-15)
    shell(f"rerank {files} --weights w.txt --out best.txt")
    assert (folder / "best.txt").read_text(encoding="utf-8") == best


def test_added_scores(folder: Path, shell: Shell) -> None:
    rows = len((folder / "lists.moses").read_text(encoding="utf-8").splitlines())
    (folder / "comet.txt").write_text("".join(f"{row % 7}\n" for row in range(rows)), encoding="utf-8")
    found = shell.json(
        f"tune lists.moses --ref lists.refs {QUICK} --add comet.txt comet "
        "--heldout lists.moses --heldout-ref lists.refs --heldout-add comet.txt"
    )
    assert list(found["weights"]) == ["f0", "f1", "f2", "comet"]
    assert found["heldout"]["score"] == found["score"]


def test_continuing_from_a_result(folder: Path, shell: Shell) -> None:
    first = shell.json(f"tune lists.jsonl {QUICK} --out w.json")
    again = shell.json(f"tune lists.jsonl {QUICK} --start w.json --store s.sqlite")
    assert again["start"] == first["weights"]
    assert again["score"] <= first["score"]
    assert (folder / "s.sqlite").exists()


@pytest.mark.parametrize(("data", "weights"), [("lists.jsonl", "old.txt"), ("forests", "forests.w")])
def test_the_best_can_be_read_again(folder: Path, shell: Shell, data: str, weights: str) -> None:
    picks = shell(f"rerank {data} --weights {weights}").splitlines()
    for output in ("moses", "jsonl"):
        shell(f"rerank {data} --weights {weights} --best 3 --as {output} --out best.{output}")
        best = read(f"best.{output}")
        assert [best.text(row) for row in range(0, 36, 3)] == picks
        assert best.scores is not None
        totals = best.corpus.features.matrix() @ np.array([read_weights(weights)[name] for name in best.feature_names])
        np.testing.assert_allclose(best.scores, totals)
        assert np.all(np.diff(best.scores.reshape(12, 3)) <= 0)


def test_an_empty_list_is_a_line_and_a_line_break_a_space(folder: Path, shell: Shell) -> None:
    records = [
        {"id": 0, "candidates": [{"text": "a\nb", "features": {"x": 1}}]},
        {"id": 1, "candidates": []},
        {"id": 2, "candidates": [{"text": "c", "features": {"x": 1}}]},
    ]
    (folder / "odd.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    (folder / "x.txt").write_text("x 1\n", encoding="utf-8")
    assert shell("rerank odd.jsonl --weights x.txt --quiet") == "a b\n\nc\n"
    assert "1 text had line breaks" in shell.said
    shell.refuses("rerank odd.jsonl --weights x.txt --as moses --quiet", "which a Moses list cannot hold")


def test_info_on_lists(folder: Path, shell: Shell) -> None:
    lines = ["0 ||| a b ||| x=1 y=2 ||| 1"] * 2 + ["0 ||| c ||| x=3 ||| 2", "2 |||  ||| x=1 y=1 ||| 0"]
    (folder / "x.moses").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "x.refs").write_text("a b\nq\nc\n", encoding="utf-8")
    found = shell.json("info x.moses --ref x.refs --metric wer")
    assert (found["sentences"], found["candidates"], found["duplicates"]) == (3, 3, 1)
    assert found["candidates_per_sentence"] == {"least": 0, "mean": 1.0, "most": 2}
    assert (found["empty_lists"], found["empty_texts"]) == (["1"], 1)
    features = [(f["name"], f["least"], f["most"], f["omitted"]) for f in found["features"]]
    assert features == [("x", 1.0, 3.0, 0), ("y", 0.0, 2.0, 1)]
    assert found["scores"]["baseline"] == 1.0  # the highest score is that of c: all five words are wrong
    assert found["scores"]["oracle"] == 0.5
    out = shell("info x.moses --ref x.refs --metric wer")
    assert "1 duplicate " in out
    assert "omitted 1 time, taken as 0" in out
    assert "first choice 1.0000, oracle 0.5000 (exact, all candidates)  wer|" in out
    assert "oracle" not in shell("info x.moses")


def test_info_on_forests(folder: Path, shell: Shell) -> None:
    (folder / "forests" / "README").write_text("not a forest\n", encoding="utf-8")
    found = shell.json("info forests --ref forests.refs --metric wer")
    assert found["kinds"]["lattice"] == found["kinds"]["hypergraph"] == 6
    assert [feature["name"] for feature in found["features"]] == ["lm", "tm", "length"]
    assert found["scores"]["baseline"] is None
    assert found["scores"]["oracle"] < 0.5
    assert found["left_out"] == ["forests/README"]
    assert "12 sentences (6 lattices, 6 hypergraphs)" in shell("info forests")
    assert "left out 1 file in no known format of forests: README" in shell.said


def test_surface(folder: Path, shell: Shell) -> None:
    found = shell.json(f"tune lists.jsonl {QUICK} --out w.json")
    common = "surface lists.jsonl --metric wer --weights w.json"
    rows = [line.split(",") for line in shell(f"{common} --feature f1").splitlines()]
    assert rows[0] == ["from", "to", "score"]
    assert (rows[1][0], rows[-1][1]) == ("-inf", "inf")
    here = [row for row in rows[1:] if float(row[0]) < found["weights"]["f1"] < float(row[1])]
    assert [float(row[2]) for row in here] == [found["score"]]
    assert [row[1] for row in rows[1:-1]] == [row[0] for row in rows[2:]]
    best = shell.json(f"{common} --feature f1")
    assert best["score"] == min(float(row[2]) for row in rows[1:]) <= found["score"]
    for name, magic in (("s.png", b"\x89PNG"), ("s.svg", b"<?xml"), ("s.csv", b"from,to")):
        assert shell(f"{common} --to old.txt --range=-1,1 --out {name}").startswith("best ")
        assert (folder / name).read_bytes().startswith(magic)
    shell.refuses(f"{common} --to w.json", "both sets of weights are the same")


def test_the_surface_between_two_weights_scores_both(folder: Path, shell: Shell) -> None:
    out = shell("surface lists.jsonl --metric wer --weights old.txt --to new.txt")
    rows = [tuple(map(float, line.split(","))) for line in out.splitlines()[1:]]
    for place, name in ((0.0, "old.txt"), (1.0, "new.txt")):
        expected = shell.json(f"score lists.jsonl --metric wer --weights {name}")["score"]
        assert [score for left, right, score in rows if left < place < right] == [expected]


def test_demo_of_lists(folder: Path, shell: Shell) -> None:
    assert "known optimum" in shell("demo --out demo --sentences 30 --candidates 10 --quiet")
    names = sorted(path.name for path in (folder / "demo").iterdir())
    assert names == ["demo.jsonl", "demo.surface.png", "demo.weights.json"]


def test_skipped_lines_are_listed(folder: Path, shell: Shell) -> None:
    with (folder / "lists.moses").open("a", encoding="utf-8") as file:
        file.write("3 ||| broken\n")
    shell("info lists.moses --on-error skip")
    assert "skipped 1 fault:\n  lists.moses:97: " in shell.said
    shell.refuses("info lists.moses", "lists.moses:97: ")


@pytest.mark.parametrize(("data", "weights"), [("lists", "old.txt"), ("forests", "forests.w")])
def test_weights_of_features_that_the_data_lack(folder: Path, shell: Shell, data: str, weights: str) -> None:
    files = "lists.jsonl --missing 0" if data == "lists" else "forests"
    out = shell(f"rerank {files} --weights {weights}")
    with (folder / weights).open("a") as file:
        file.write("rare 5\n")
    assert shell(f"rerank {files} --weights {weights}") == out
    assert f"the {data} have no rare: taken as 0" in shell.said


def test_an_interrupt_is_heard_again_after_a_command(folder: Path, shell: Shell) -> None:
    before = signal.getsignal(signal.SIGINT)
    shell(f"tune lists.jsonl {QUICK} --quiet")
    assert signal.getsignal(signal.SIGINT) is before


# Forests.


def test_patterns_files_and_ids(folder: Path, shell: Shell) -> None:
    rest = f"--ref forests.refs {QUICK} --no-oracle --quiet"
    names = " ".join(f"forests/{number}.hg.gz" for number in range(1, 13))
    given = ("forests", "'forests/*.hg.gz'", "forests --ids name1", names)
    first, *others = (shell.json(f"tune {data} {rest}")["weights"] for data in given)
    assert others == [first] * 3
    (folder / "forests" / "3.hg.gz").unlink()
    shell.refuses(f"tune forests {rest}", "11 sentences, but 12 reference lines")
    assert shell.json(f"tune forests --ids name1 {rest}")["sentences"] == 11
    assert "left out 1 of 12 reference lines, for which there is no forest" in shell.said
    shell.refuses(f"tune forests --ids name {rest}", "--ids name1 counts from 1")


def test_lists_beside_forests(folder: Path, shell: Shell) -> None:
    (folder / "forests" / "1.hg.gz").unlink()
    lists = ["0 ||| ba ||| lm=1 ||| 0", "0 ||| be ||| lm=2 tm=1 length=3 ||| 1"]
    (folder / "lists.txt").write_text("".join(f"{line}\n" for line in lists), encoding="utf-8")
    found = shell.json(f"tune lists.txt forests --ids name1 --missing 0 --ref forests.refs {QUICK} --quiet")
    assert found["sentences"] == 12
    assert found["baseline_kind"] == "the start weights' choice, and the lists' own first choice"


def test_signs_and_words_on_request(folder: Path, shell: Shell) -> None:
    plain = shell.json("info forests")["features"]
    turned = shell.json("info forests --negate all")["features"]
    assert [feature["most"] for feature in turned] == [-feature["least"] for feature in plain]
    assert shell.json("info forests --negate tm")["features"] == [plain[0], turned[1], plain[2]]
    dropped = shell("rerank forests --weights forests.w --drop ba,be,bi,bo,bu --quiet")
    assert set(dropped.split()) <= {"da", "de", "di", "do", "du"}


def test_threads_that_read_change_nothing(folder: Path, shell: Shell) -> None:
    said = []
    for threads in (1, 3):
        shell(f"convert forests {threads}.hull --threads {threads}")
        lines = ("score forests --ref forests.refs -w forests.w", "rerank forests -w forests.w", "info forests")
        said.append([shell(f"{line} -j {threads}") for line in lines])
    assert said[0] == said[1]
    assert (folder / "1.hull").read_bytes() == (folder / "3.hull").read_bytes()


# What the answer of ``tune`` tells of the best that is possible, and of a search that ended early.


def test_a_bound_beside_an_oracle_that_is_not_exact(folder: Path, shell: Shell) -> None:
    tuning = "tune task.jsonl --metric bleu --restarts 3 --quiet"
    found = shell.json(tuning)
    assert found["oracle"] < found["oracle_bound"]
    assert f"the best picks (greedy, all candidates); none can beat {found['oracle_bound']:.2f}\n" in shell(tuning)
    alone = shell.json("score task.jsonl --oracle --metric bleu --quiet")
    assert (alone["score"], alone["bound"], alone["exact"]) == (found["oracle"], found["oracle_bound"], False)
    described = shell.json("info task.jsonl --metric bleu")["scores"]
    assert (described["oracle"], described["oracle_bound"]) == (alone["score"], alone["bound"])


def test_no_bound_beside_an_exact_oracle_and_why_a_search_ended(folder: Path, shell: Shell) -> None:
    out = shell("tune lists.jsonl --metric wer --restarts 60 --quiet")
    assert "the best picks (exact, all candidates)\n" in out
    assert "\nended early: " in out
    assert shell.json("tune lists.jsonl --metric wer --restarts 3 --quiet")["ended"] is None
