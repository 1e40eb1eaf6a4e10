"""Commands on forests end to end: the k best, samples, the oracle, conversion and packing."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from hulltune import Corpus, Forest, ForestBuilder, decode, kbest, read, sample
from hulltune.data.vocabulary import Vocabulary
from hulltune.formats import pack
from hulltune.formats.forest_files import ForestOptions, NamedForest
from hulltune.formats.forest_text import write_forest_text
from hulltune.formats.openfst import read_openfst_text
from hulltune.formats.slf import read_slf
from tests.cli.running import run
from tests.lists import all_texts

WEIGHTS = {"score": 1.0, "words": -0.25}


def lattice(words: list[list[str]], rng: np.random.Generator) -> Forest:
    """A confusion network with random scores."""
    builder = ForestBuilder(feature_names=["score", "words"])
    builder.add_edge(0, features=[0.0, 0.0], output=[])
    for place, choices in enumerate(words):
        for word in choices:
            builder.add_edge(place + 1, [place], features=[round(float(rng.normal()), 3), 1.0], output=[0, word])
    return builder.build(root=len(words))


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with lattices, references and weights, and the working directory."""
    rng = np.random.default_rng(3)
    words = [[["the", "a"], ["cat", "hat", "mat"], ["sat", "sits"]], [["he", "she"], ["sleeps", "slept", "slips"]]]
    forests = [NamedForest(lattice(choices, rng), name) for choices, name in zip(words, "ab", strict=True)]
    write_forest_text(tmp_path / "dev.forest", forests)
    (tmp_path / "refs").write_text("the hat sat\nshe slept well\n")
    (tmp_path / "w.json").write_text(json.dumps(WEIGHTS))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_k_best_become_a_list_that_reads_back(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(
        capsys, "kbest", "dev.forest", "--weights", "w.json", "--k", "5", "--out", "k.nbest", "--quiet"
    )
    assert (code, out, err) == (0, "", "")
    lists = read("k.nbest")
    found = kbest(read("dev.forest").corpus, WEIGHTS, 5)
    assert lists.feature_names == ("score", "words")
    assert all_texts(lists) == list(found.texts)
    assert lists.corpus.features.matrix().tolist() == found.features.toarray().tolist()
    assert lists.scores is not None
    assert lists.scores.tolist() == found.scores.tolist()
    code, out, _ = run(capsys, "kbest", "dev.forest", "--weights", "w.json", "--k", "1", "--as", "text", "--quiet")
    assert out.splitlines() == [texts[0] for texts in decode(read("dev.forest").corpus, WEIGHTS).outputs()]
    code, out, _ = run(capsys, "kbest", "dev.forest", "--weights", "w.json", "--k", "2", "--as", "jsonl", "--quiet")
    assert [len(json.loads(line)["candidates"]) for line in out.splitlines()] == [2, 2]


def test_samples_are_drawn_again_with_the_same_seed(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--weights", "w.json", "--sample", "20", "--temperature", "2", "--quiet"]
    outputs = [run(capsys, "kbest", "dev.forest", *options, "--seed", seed)[1] for seed in ("7", "7", "8")]
    assert outputs[0] == outputs[1] != outputs[2]
    assert len(outputs[0].splitlines()) == 40
    drawn = sample(read("dev.forest").corpus, WEIGHTS, 20, temperature=2.0, seed=7)
    assert [line.split(" ||| ")[1] for line in outputs[0].splitlines()] == list(drawn.texts)
    unique = run(capsys, "kbest", "dev.forest", *options, "--seed", "7", "--distinct")[1].splitlines()
    texts = [tuple(line.split(" ||| ")[:2]) for line in unique]
    expected = dict.fromkeys((str(s), text) for s, text in zip(drawn.sentences.tolist(), drawn.texts, strict=True))
    assert texts == list(expected)


def test_lists_have_k_best_too(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "lists").write_text(
        "0 ||| a  b ||| score=1 words=2\n0 ||| a ||| score=3 words=1\n0 ||| a ||| score=2 words=1\n"
    )
    _, out, _ = run(capsys, "kbest", "lists", "--weights", "w.json", "--distinct", "--quiet")
    assert [line.split(" ||| ")[1] for line in out.splitlines()] == ["a", "a  b"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--k", "2", "--sample", "2"], "--k, --sample: give one of them"),
        (["--temperature", "2"], "--temperature: only for random derivations; give --sample"),
        (["--seed", "2"], "--seed: only for random derivations; give --sample"),
        (["--k", "0"], "--k: got '0'; expected a whole number of at least 1"),
        (["--sample", "3", "--temperature", "0"], "temperature: expected a number above 0"),
        (["--as", "text"], "--as text: only for one derivation"),
        (["--as", "mosses"], "moses"),
    ],
)
def test_kbest_refuses_what_makes_no_sense(
    data: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    code, out, err = run(capsys, "kbest", "dev.forest", "--weights", "w.json", "--quiet", *options)
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1


def test_the_oracle_of_wer_is_exact_and_needs_no_weights(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(
        capsys,
        "score",
        "dev.forest",
        "--oracle",
        "--ref",
        "refs",
        "--metric",
        "wer",
        "--json",
        "--out",
        "best.txt",
        "--quiet",
    )
    found = json.loads(out)
    assert code == 0
    assert found["score"] == found["bound"] == 1 / 6
    assert (found["exact"], found["kind"], found["sentences"]) == (True, "exact, all derivations", 2)
    assert (data / "best.txt").read_text() == "the hat sat\nshe slept\n"
    _, out, _ = run(capsys, "score", "dev.forest", "--oracle", "--ref", "refs", "--metric", "wer", "--quiet")
    assert out.startswith("0.1667  wer|")
    assert "exact, all derivations" in out


def test_the_oracle_of_other_metrics_says_what_it_is(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(
        capsys, "score", "dev.forest", "--oracle", "--ref", "refs", "--metric", "chrf", "--weights", "w.json",
        "--k", "50", "--json", "--quiet",
    )  # fmt: skip
    found = json.loads(out)
    assert (found["exact"], found["bound"], found["kind"]) == (
        False,
        None,
        "greedy, near the references, the 50 best",
    )
    code, out, _ = run(capsys, "score", "dev.forest", "--oracle", "--ref", "refs", "--metric", "chrf", "--quiet")
    assert code == 0
    assert "greedy, near the references, a short search and its 100 best" in out
    (data / "lists").write_text("0 ||| the hat ||| x=1\n1 ||| she slept well ||| x=1\n1 ||| she ||| x=2\n")
    _, out, _ = run(capsys, "score", "lists", "--oracle", "--ref", "refs", "--metric", "wer", "--json", "--quiet")
    assert (json.loads(out)["score"], json.loads(out)["kind"]) == (1 / 6, "exact, all candidates")


def same_derivations(one: Corpus, other: Corpus) -> bool:
    found = [kbest(corpus, WEIGHTS, 1000, distinct=True) for corpus in (one, other)]
    return list(found[0].texts) == list(found[1].texts) and found[0].scores.tolist() == found[1].scores.tolist()


def test_forests_go_from_format_to_format(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = read("dev.forest")
    assert run(capsys, "convert", "dev.forest", "dev.hull", "--quiet") == (0, "", "")
    assert run(capsys, "convert", "dev.hull", "again.forest", "--to", "forest", "--quiet") == (0, "", "")
    assert (data / "again.forest").read_bytes() == (data / "dev.forest").read_bytes()
    _, _, err = run(capsys, "convert", "dev.forest", "other.hull")
    assert "other.hull: 2 sentences, as packed, " in err
    assert (data / "other.hull").read_bytes() == (data / "dev.hull").read_bytes()
    assert run(capsys, "convert", "dev.hull", "slf/", "--to", "slf", "--quiet") == (0, "", "")
    assert run(capsys, "convert", "dev.hull", "fst/", "--to", "openfst-text", "--quiet") == (0, "", "")
    options, vocabulary = ForestOptions(), Vocabulary()
    slf = [forest.forest for name in "ab" for forest in read_slf(data / "slf" / f"{name}.slf", options, vocabulary)]
    assert same_derivations(whole.corpus, read(slf).with_features(whole.feature_names).corpus)
    fst = [f.forest for name in "ab" for f in read_openfst_text(data / "fst" / f"{name}.txt", options, vocabulary)]
    renamed = read(fst).corpus
    found = kbest(renamed, list(WEIGHTS.values()), 1000, distinct=True)
    assert list(found.texts) == list(kbest(whole.corpus, WEIGHTS, 1000, distinct=True).texts)


def test_lists_go_from_format_to_format(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (data / "lists.nbest").write_text(
        "0 ||| a b ||| score=1.0 words=2.0 ||| 0.5\n1 ||| a ||| score=3.0 words=1.0 ||| 2.75\n"
    )
    for target in ("lists.jsonl", "lists.hull"):
        assert run(capsys, "convert", "lists.nbest", target, "--quiet") == (0, "", "")
        assert run(capsys, "convert", target, "again.nbest", "--quiet") == (0, "", "")
        assert (data / "again.nbest").read_text() == (data / "lists.nbest").read_text()
    assert run(capsys, "convert", "lists.nbest", "lists.forest", "--to", "forest", "--quiet") == (0, "", "")
    forests = read("lists.forest")
    assert list(kbest(forests.corpus, WEIGHTS, 10).texts) == ["a b", "a"]


def test_pruning_tells_what_it_keeps(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "convert", "dev.forest", "small.hull", "--beam", "0.5", "--weights", "w.json")
    assert code == 0
    small, whole = read("small.hull"), read("dev.forest")
    assert f"{small.corpus.edges} of {whole.corpus.edges} edges" in err
    assert "the envelope keeps" in err
    assert decode(small.corpus, WEIGHTS).outputs() == decode(whole.corpus, WEIGHTS).outputs()
    code, _, err = run(capsys, "convert", "dev.forest", "thin.hull", "--density", "1", "--weights", "w.json", "--quiet")
    assert (code, err) == (0, "")
    assert read("thin.hull").corpus.edges < whole.corpus.edges


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dev.forest", "out.xyz"], "its name does not tell a format"),
        (["dev.forest", "out", "--to", "slff"], "slf"),
        (["dev.forest", "out", "--to", "moses"], "with hulltune kbest"),
        (["dev.forest", "out.hull", "--beam", "3"], "pruning needs weights"),
        (["dev.forest", "out.hull", "--weights", "w.json"], "weights are only for pruning"),
        (["dev.forest", "one.slf", "--to", "slf"], "give a folder"),
        (["none.forest", "out.hull"], "no such file"),
    ],
)
def test_convert_refuses_what_makes_no_sense(
    data: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    before = sorted(entry.name for entry in data.iterdir())
    code, out, err = run(capsys, "convert", *arguments, "--quiet")
    assert (code, out) == (2, "")
    assert message in err
    assert len(err.splitlines()) == 1
    if "slf" not in arguments:
        assert sorted(entry.name for entry in data.iterdir()) == before


def test_a_damaged_packed_file_is_refused(data: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pack(read("dev.forest"), "p.hull")
    (data / "p.hull").write_bytes((data / "p.hull").read_bytes()[:-100])
    code, _, err = run(capsys, "kbest", "p.hull", "--weights", "w.json", "--quiet")
    assert code == 2
    assert "cut off" in err
