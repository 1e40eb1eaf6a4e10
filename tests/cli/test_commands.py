"""The commands end to end, in this process: what they print, what they write, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hulltune import LineCma, TuneResult, read, read_weights, tune
from hulltune.cli import main
from hulltune.formats import write_jsonl
from tests.cli.running import run, run_json
from tests.tuning.corpora import random_lists

QUICK = ["--metric", "wer", "--restarts", "2", "--directions", "4", "--also", "cer", "--threads", "1"]


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with lists and references as files, and the working directory."""
    lists = random_lists(1)
    assert lists.references is not None
    write_jsonl(lists, tmp_path / "lists.jsonl")
    with (tmp_path / "lists.moses").open("w", encoding="utf-8") as file:
        for sentence in range(len(lists)):
            for row in range(
                int(lists.corpus.sentence_edges[sentence]), int(lists.corpus.sentence_edges[sentence + 1])
            ):
                values = " ".join(
                    f"f{k}= {value!r}" for k, value in enumerate(lists.corpus.features.matrix()[row].tolist())
                )
                file.write(f"{sentence} ||| {lists.text(row)} ||| {values} ||| 0\n")
    (tmp_path / "refs.txt").write_text("".join(f"{texts[0]}\n" for texts in lists.references), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_calling_convention_of_scripts(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(
        capsys, "tune", "lists.moses", "--ref", "refs.txt", "--metric", "wer", "--seed", "1", "--out", "weights.json",
        "--json",
    )  # fmt: skip
    assert {"score", "baseline", "oracle", "weights", "metric", "seed", "seconds", "line_searches"} <= found.keys()
    assert found["seed"] == 1
    scored = run_json(
        capsys, "score", "lists.moses", "--ref", "refs.txt", "--weights", "weights.json", "--metric", "wer", "--json"
    )
    assert scored["score"] == found["score"]
    assert scored["metric"] == found["metric"]
    assert read_weights("weights.json") == found["weights"]
    assert TuneResult.load("weights.json").score == found["score"]


def test_the_command_gives_what_the_library_gives(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, "tune", "lists.moses", "--ref", "refs.txt", *QUICK, "--json", "--seed", "3")
    result = tune("lists.jsonl", metric="wer", search=LineCma(restarts=2, directions=4), seed=3, also=["cer"])
    assert found["weights"] == result.weights
    assert found["others"] == {name: list(pair) for name, pair in result.others.items()}


def test_every_output_format_holds_the_same_weights(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ["w.json", "w.ini", "w.txt"]
    outputs = [argument for name in names for argument in ("--out", name)]
    code, out, _ = run(capsys, "tune", "lists.jsonl", *QUICK, "--quiet", *outputs)
    assert code == 0
    assert read_weights("w.json") == read_weights("w.ini") == read_weights("w.txt")
    assert (data / "w.ini").read_text(encoding="utf-8").startswith("[weight]\n")
    assert out.startswith("hulltune ")
    assert not [path.name for path in data.iterdir() if path.name.startswith(".")]


def test_all_constraints_arrive(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(
        capsys, "tune", "lists.jsonl", "--metric", "wer", "--restarts", "2", "--also", "cer", "--json", "--features",
        "words,rank", "--fix", "f0=1",
        "--min", "f1=-0.25", "--max", "f1=0.5", "--sign", "words=-", "--tie", "f2,rank", "--scale", "none",
        "--policy", "closest",
        "--smoothing", "mean", "--search", "coordinate",
    )  # fmt: skip
    weights = found["weights"]
    assert list(weights) == ["f0", "f1", "f2", "words", "rank"]
    assert weights["f0"] == 1.0
    assert -0.25 <= weights["f1"] <= 0.5
    assert weights["words"] <= 0.0
    assert weights["f2"] == weights["rank"]


def test_held_out_lists_folds_and_replicates(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_jsonl(random_lists(2), data / "unseen.jsonl")
    found = run_json(capsys, "tune", "lists.jsonl", *QUICK, "--json", "--heldout", "unseen.jsonl", "--replicates", "2")
    assert found["heldout"]["how"] == "file"
    assert found["replicates"]["seeds"] == [1, 2]
    assert len(found["replicates"]["heldout_scores"]) == 2
    found = run_json(
        capsys, "tune", "lists.jsonl", *QUICK, "--json", "--heldout", "lists.moses", "--heldout-ref", "refs.txt"
    )
    assert found["heldout"]["score"] == found["score"]
    found = run_json(capsys, "tune", "lists.jsonl", *QUICK, "--json", "--folds", "3")
    assert found["heldout"]["how"] == "folds"


def test_added_scores(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = len((data / "lists.moses").read_text(encoding="utf-8").splitlines())
    (data / "comet.txt").write_text("".join(f"{row % 7}\n" for row in range(rows)), encoding="utf-8")
    found = run_json(
        capsys, "tune", "lists.moses", "--ref", "refs.txt", *QUICK, "--json", "--add", "comet.txt", "comet",
        "--heldout", "lists.moses", "--heldout-ref", "refs.txt", "--heldout-add", "comet.txt",
    )  # fmt: skip
    assert list(found["weights"]) == ["f0", "f1", "f2", "comet"]
    assert found["heldout"]["score"] == found["score"]
    code, _, err = run(capsys, "tune", "lists.moses", "--ref", "refs.txt", "--quiet", "--add", "comet.txt")
    assert (code, err.count("\n")) == (2, 1)
    assert "option '--add' requires 2 arguments" in err


def test_continuing_from_a_result(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = run_json(capsys, "tune", "lists.jsonl", *QUICK, "--json", "--out", "w.json")
    again = run_json(capsys, "tune", "lists.jsonl", *QUICK, "--json", "--start", "w.json", "--store", "s.sqlite")
    assert again["start"] == first["weights"]
    assert again["score"] <= first["score"]
    assert (data / "s.sqlite").exists()


def test_rerank_and_score_agree(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, "tune", "lists.jsonl", *QUICK, "--json", "--out", "w.txt")
    code, out, _ = run(capsys, "rerank", "lists.jsonl", "--weights", "w.txt")
    assert code == 0
    from jiwer import wer

    references = (data / "refs.txt").read_text(encoding="utf-8").splitlines()
    assert wer(references, out.splitlines()) == pytest.approx(found["score"], abs=1e-15)
    assert main(["rerank", "lists.jsonl", "--weights", "w.txt", "--out", "best.txt"]) == 0
    assert (data / "best.txt").read_text(encoding="utf-8") == out
    code, text, _ = run(capsys, "score", "lists.jsonl", "--weights", "w.txt", "--metric", "wer", "--also", "cer,bleu")
    assert code == 0
    score = found["score"]
    assert text.startswith(f"{score:.4f} = {100 * score:.2f} %  wer|")
    named = [word.partition("|")[0] for line in text.splitlines() for word in line.split() if "|version:" in word]
    assert named == ["wer", "cer", "bleu", "wer"]


def test_k_best_lists_can_be_read_again(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "w.txt").write_text("f0 1\nf1 -0.5\nf2 0.25\n", encoding="utf-8")
    for output in ("moses", "jsonl"):
        assert (
            main(["rerank", "lists.jsonl", "--weights", "w.txt", "--best", "3", "--as", output, "--out", output]) == 0
        )
        best = read(data / output)
        assert (len(best), best.corpus.edges) == (12, 36)
        for sentence in range(12):
            rows = range(int(best.corpus.sentence_edges[sentence]), int(best.corpus.sentence_edges[sentence + 1]))
            totals = [float(best.corpus.features.matrix()[row] @ [1.0, -0.5, 0.25]) for row in rows]
            assert best.scores is not None
            assert [float(best.scores[row]) for row in rows] == totals == sorted(totals, reverse=True)
    code, _, err = run(capsys, "rerank", "lists.jsonl", "--weights", "w.txt", "--best", "3", "--as", "text")
    assert code == 2
    assert "only for the best candidate" in err


def test_an_empty_list_is_a_line_and_a_line_break_a_space(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    records = [
        {"id": 0, "candidates": [{"text": "a\nb", "features": {"x": 1}}]},
        {"id": 1, "candidates": []},
        {"id": 2, "candidates": [{"text": "c", "features": {"x": 1}}]},
    ]
    (data / "odd.jsonl").write_text("\n".join(map(json.dumps, records)), encoding="utf-8")
    (data / "w.txt").write_text("x 1\n", encoding="utf-8")
    code, out, err = run(capsys, "rerank", "odd.jsonl", "--weights", "w.txt", "--quiet")
    assert (code, out) == (0, "a b\n\nc\n")
    assert "1 text had line breaks" in err
    code, _, err = run(capsys, "rerank", "odd.jsonl", "--weights", "w.txt", "--as", "moses", "--quiet")
    assert code == 2
    assert "which a Moses list cannot hold" in err


def test_a_packed_file_gives_the_same_result(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, "convert", "lists.jsonl", "lists.hull")
    assert (code, out) == (0, "")
    assert "12 sentences" in err
    packed, plain = (run_json(capsys, "tune", name, *QUICK, "--json") for name in ("lists.hull", "lists.jsonl"))
    assert packed["weights"] == plain["weights"]
    assert packed["gain"] == plain["gain"]


def test_info(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [
        "0 ||| a b ||| x=1 y=2 ||| 1",
        "0 ||| a b ||| x=1 y=2 ||| 1",
        "0 ||| c ||| x=3 ||| 2",
        "2 |||  ||| x=1 y=1 ||| 0",
    ]
    (data / "x.moses").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (data / "x.refs").write_text("a b\nq\nc\n", encoding="utf-8")
    found = run_json(capsys, "info", "x.moses", "--ref", "x.refs", "--metric", "wer", "--json")
    assert (found["sentences"], found["candidates"], found["duplicates"]) == (3, 3, 1)
    assert found["candidates_per_sentence"] == {"least": 0, "mean": 1.0, "most": 2}
    assert (found["empty_lists"], found["empty_texts"]) == (["1"], 1)
    assert [(f["name"], f["least"], f["most"], f["omitted"]) for f in found["features"]] == [
        ("x", 1.0, 3.0, 0), ("y", 0.0, 2.0, 1),
    ]  # fmt: skip
    assert found["scores"]["baseline"] == 1.0  # the highest score is that of c: all five words are wrong
    assert found["scores"]["oracle"] == 0.5
    code, out, _ = run(capsys, "info", "x.moses", "--ref", "x.refs", "--metric", "wer")
    assert code == 0
    assert "1 duplicate " in out
    assert "omitted 1 time, taken as 0" in out
    assert "first choice 1.0000, oracle 0.5000 (exact, all candidates)  wer|" in out
    code, out, _ = run(capsys, "info", "x.moses")
    assert code == 0
    assert "oracle" not in out


def test_surface(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = run_json(capsys, "tune", "lists.jsonl", *QUICK, "--json", "--out", "w.json")
    (data / "other.txt").write_text("f0 1\nf1 1\nf2 -1\n", encoding="utf-8")
    common = ["surface", "lists.jsonl", "--metric", "wer", "--weights", "w.json"]
    code, out, _ = run(capsys, *common, "--feature", "f1")
    assert code == 0
    rows = [line.split(",") for line in out.splitlines()]
    assert rows[0] == ["from", "to", "score"]
    assert (rows[1][0], rows[-1][1]) == ("-inf", "inf")
    here = [row for row in rows[1:] if float(row[0]) < found["weights"]["f1"] < float(row[1])]
    assert [float(row[2]) for row in here] == [found["score"]]
    assert [row[1] for row in rows[1:-1]] == [row[0] for row in rows[2:]]
    best = run_json(capsys, *common, "--feature", "f1", "--json")
    assert best["score"] == min(float(row[2]) for row in rows[1:]) <= found["score"]
    for name, magic in (("s.png", b"\x89PNG"), ("s.svg", b"<?xml"), ("s.csv", b"from,to")):
        code, out, _ = run(capsys, *common, "--to", "other.txt", "--out", name)
        assert code == 0
        assert out.startswith("best ")
        assert (data / name).read_bytes().startswith(magic)
    assert main([*common, "--feature", "f1", "--range=-1,1", "--out", "r.png"]) == 0
    capsys.readouterr()
    for wrong, complaint in (
        (["--feature", "f9"], "unknown feature 'f9'"),
        (["--to", "w.json"], "both sets of weights are the same"),
        (["--feature", "f1", "--out", "x.gif"], "no known suffix"),
        (["--feature", "f1", "--range", "2,1"], "expected LOW,HIGH"),
    ):
        code, _, err = run(capsys, *common, *wrong)
        assert code == 2
        assert complaint in err


def test_the_surface_between_two_weights_scores_both(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "a.txt").write_text("f0 1\nf1 0.3\nf2 0.11\n", encoding="utf-8")
    (data / "b.txt").write_text("f0 -0.2\nf1 1.7\nf2 0.9\n", encoding="utf-8")
    _, out, _ = run(capsys, "surface", "lists.jsonl", "--metric", "wer", "--weights", "a.txt", "--to", "b.txt")
    rows = [tuple(map(float, line.split(","))) for line in out.splitlines()[1:]]
    for place, name in ((0.0, "a.txt"), (1.0, "b.txt")):
        expected = run_json(capsys, "score", "lists.jsonl", "--metric", "wer", "--weights", name, "--json")["score"]
        assert [score for left, right, score in rows if left < place < right] == [expected]


def test_demo_of_lists(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "demo", "--out", "demo", "--sentences", "30", "--candidates", "10", "--quiet")
    assert code == 0
    assert "known optimum" in out
    names = sorted(path.name for path in (data / "demo").iterdir())
    assert names == ["demo.jsonl", "demo.surface.png", "demo.weights.json"]


def test_notes_on_weights_that_are_missing(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "w.txt").write_text("f0 1\n", encoding="utf-8")
    code, _, err = run(capsys, "rerank", "lists.jsonl", "--weights", "w.txt", "--quiet")
    assert code == 0
    assert "no weight for f1, f2: taken as 0" in err
    for content, complaint in (
        ("f0 1\nlm 2\n", "a weight for 'lm', which is no feature of the lists"),
        ("lm 2\n", "no weight for any"),
    ):
        (data / "w.txt").write_text(content, encoding="utf-8")
        code, _, err = run(capsys, "rerank", "lists.jsonl", "--weights", "w.txt")
        assert code == 2
        assert complaint in err


def test_skipped_lines_are_listed(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with (data / "lists.moses").open("a", encoding="utf-8") as file:
        file.write("3 ||| broken\n")
    code, _, err = run(capsys, "info", "lists.moses", "--on-error", "skip")
    assert code == 0
    assert "skipped 1 fault:\n  lists.moses:97: " in err
    assert run(capsys, "info", "lists.moses")[0] == 2


def test_weights_of_features_that_the_lists_lack(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "w.txt").write_text("f0 1\nf1 1\nf2 1\nrare 5\n", encoding="utf-8")
    code, out, err = run(capsys, "rerank", "lists.jsonl", "--weights", "w.txt", "--missing", "0", "--quiet")
    assert code == 0
    assert "the lists have no rare: taken as 0" in err
    (data / "w.txt").write_text("f0 1\nf1 1\nf2 1\n", encoding="utf-8")
    assert run(capsys, "rerank", "lists.jsonl", "--weights", "w.txt", "--quiet")[:2] == (0, out)


def test_an_interrupt_is_heard_again_after_a_command(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import signal

    before = signal.getsignal(signal.SIGINT)
    assert run(capsys, "tune", "lists.jsonl", *QUICK, "--quiet")[0] == 0
    assert signal.getsignal(signal.SIGINT) is before
