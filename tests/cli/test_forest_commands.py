"""Commands on forests end to end: the k best, samples, the oracle, conversion and packing."""

from __future__ import annotations

import json
from pathlib import Path

from hulltune import Corpus, decode, kbest, read, read_weights, sample, score
from hulltune.data.vocabulary import Vocabulary
from hulltune.formats.forest_files import ForestOptions
from hulltune.formats.openfst import read_openfst_text
from hulltune.formats.slf import read_slf
from tests.cli.running import Shell
from tests.lists import all_texts

WEIGHTS = {"score": 1.0, "words": -0.25}
"""The weights in dev.w."""


def test_the_k_best_become_a_list_that_reads_back(folder: Path, shell: Shell) -> None:
    assert shell("kbest dev.forest --weights dev.w --k 5 --out k.nbest --quiet") == shell.said == ""
    lists = read("k.nbest")
    found = kbest(read("dev.forest").corpus, WEIGHTS, 5)
    assert lists.feature_names == ("score", "words")
    assert all_texts(lists) == list(found.texts)
    assert lists.corpus.features.matrix().tolist() == found.features.toarray().tolist()
    assert lists.scores is not None
    assert lists.scores.tolist() == found.scores.tolist()
    out = shell("kbest dev.forest --weights dev.w --k 1 --as text")
    assert out.splitlines() == [texts[0] for texts in decode(read("dev.forest").corpus, WEIGHTS).outputs()]
    out = shell("kbest dev.forest --weights dev.w --k 2 --as jsonl")
    assert [len(json.loads(line)["candidates"]) for line in out.splitlines()] == [2, 2]


def test_samples_are_drawn_again_with_the_same_seed(folder: Path, shell: Shell) -> None:
    drawing = "kbest dev.forest --weights dev.w --sample 20 --temperature 2 --quiet --seed"
    outputs = [shell(f"{drawing} {seed}") for seed in (7, 7, 8)]
    assert outputs[0] == outputs[1] != outputs[2]
    assert len(outputs[0].splitlines()) == 40
    drawn = sample(read("dev.forest").corpus, WEIGHTS, 20, temperature=2.0, seed=7)
    assert [line.split(" ||| ")[1] for line in outputs[0].splitlines()] == list(drawn.texts)
    texts = [tuple(line.split(" ||| ")[:2]) for line in shell(f"{drawing} 7 --distinct").splitlines()]
    expected = dict.fromkeys(("ab"[s], text) for s, text in zip(drawn.sentences.tolist(), drawn.texts, strict=True))
    assert texts == list(expected)


def test_names_of_lattices_stay_in_every_output(folder: Path, shell: Shell) -> None:
    """References stand in the order of a listing (utt-1, utt-10, utt-11, …, utt-2), lattices in natural order."""
    (folder / "lattices").mkdir()
    spoken = {f"utt-{n}": f"w{n}" for n in range(1, 13)}
    for name, word in spoken.items():
        text = f"N=2 L=2\nI=0\nI=1\nJ=0 S=0 E=1 W={word} a=-1 l=-3\nJ=1 S=0 E=1 W=other a=-3 l=-1\n"
        (folder / "lattices" / f"{name}.slf").write_text(text)
    (folder / "text").write_text("".join(f"{name} {spoken[name]}\n" for name in sorted(spoken)))
    (folder / "w").write_text("acoustic 1\nlanguage 0.5\nwords 0\n")
    assert shell.json("score lattices --ref text --weights w --metric wer --quiet")["score"] == 0.0

    lines = shell("rerank lattices --weights w --as kaldi").splitlines()
    assert dict(line.split() for line in lines) == spoken
    assert [line.split()[0] for line in lines] == [f"utt-{n}" for n in range(1, 13)]
    assert shell("kbest lattices --weights w --k 1 --as trn").splitlines()[9] == "w10 (utt-10)"
    for kind, ignored in (("jsonl", ()), ("moses", ()), ("tsv", ("index",))):
        shell(f"kbest lattices --weights w --k 2 --as {kind} --out lists.{kind} --quiet")
        lists = read(f"lists.{kind}", Path("text"), ignore=ignored)
        assert list(lists.ids) == list(spoken)
        assert score(lists, read_weights("w"), metric="wer") == 0.0

    assert shell("rerank lattices --weights w").splitlines() == list(spoken.values())
    assert "text has no names, and line i is sentence i of the data (line 1: utt-1); --as kaldi has them" in shell.said
    (folder / "other").write_text("acoustic 0\nlanguage 1\nwords 0\n")
    changes = shell.json("compare w other lattices --ref text --metric wer --quiet")["changes"]
    assert [(change["id"], change["sentence"]) for change in changes] == [(n, k) for k, n in enumerate(spoken)]
    shell("convert lattices lattices.hull --quiet")
    assert shell("rerank lattices.hull --weights w --as kaldi").splitlines() == lines


def test_names_that_are_numbers_are_no_ids_of_lists(folder: Path, shell: Shell) -> None:
    """In a list, 1 would be read as the second line of the references."""
    assert shell("rerank forests --weights forests.w --as kaldi").split("\n", 1)[0].startswith("1 ")
    shell("kbest forests --weights forests.w --k 2 --as jsonl --out lists.jsonl --quiet")
    assert read("lists.jsonl").ids[0] == 0


def test_lists_have_k_best_too(folder: Path, shell: Shell) -> None:
    lines = ["0 ||| a  b ||| score=1 words=2", "0 ||| a ||| score=3 words=1", "0 ||| a ||| score=2 words=1"]
    (folder / "lists").write_text("".join(f"{line}\n" for line in lines))
    out = shell("kbest lists --weights dev.w --distinct --quiet")
    assert [line.split(" ||| ")[1] for line in out.splitlines()] == ["a", "a  b"]


def test_the_oracle_of_wer_is_exact_and_needs_no_weights(folder: Path, shell: Shell) -> None:
    oracle = "score dev.forest --oracle --ref dev.refs --metric wer --quiet"
    found = shell.json(f"{oracle} --out best.txt")
    assert found["score"] == found["bound"] == 1 / 6
    assert (found["exact"], found["kind"], found["sentences"]) == (True, "exact, all derivations", 2)
    assert (folder / "best.txt").read_text() == "the hat sat\nshe slept\n"
    out = shell(oracle)
    assert out.startswith("0.1667  wer|")
    assert "exact, all derivations" in out


def test_the_oracle_of_other_metrics_says_what_it_is(folder: Path, shell: Shell) -> None:
    oracle = "score dev.forest --oracle --ref dev.refs --metric chrf --quiet"
    found = shell.json(f"{oracle} --weights dev.w --k 50")
    assert (found["exact"], found["bound"], found["kind"]) == (False, None, "greedy, near the references, the 50 best")
    assert "greedy, near the references, a short search and its 100 best" in shell(oracle)


def same_derivations(one: Corpus, other: Corpus) -> bool:
    found = [kbest(corpus, WEIGHTS, 1000, distinct=True) for corpus in (one, other)]
    return list(found[0].texts) == list(found[1].texts) and found[0].scores.tolist() == found[1].scores.tolist()


def test_forests_go_from_format_to_format(folder: Path, shell: Shell) -> None:
    whole = read("dev.forest")
    shell("convert dev.forest dev.hull --quiet")
    shell("convert dev.hull again.forest --to forest --quiet")
    assert (folder / "again.forest").read_bytes() == (folder / "dev.forest").read_bytes()
    shell("convert dev.forest other.hull")
    assert "other.hull: 2 sentences, as packed, " in shell.said
    assert (folder / "other.hull").read_bytes() == (folder / "dev.hull").read_bytes()
    shell("convert dev.hull slf/ --to slf --quiet")
    shell("convert dev.hull fst/ --to openfst-text --quiet")
    options, vocabulary = ForestOptions(), Vocabulary()
    slf = [forest.forest for name in "ab" for forest in read_slf(folder / "slf" / f"{name}.slf", options, vocabulary)]
    assert same_derivations(whole.corpus, read(slf).with_features(whole.feature_names).corpus)
    fst = [f.forest for name in "ab" for f in read_openfst_text(folder / "fst" / f"{name}.txt", options, vocabulary)]
    found = kbest(read(fst).corpus, list(WEIGHTS.values()), 1000, distinct=True)  # its features have other names
    assert list(found.texts) == list(kbest(whole.corpus, WEIGHTS, 1000, distinct=True).texts)


def test_lists_go_from_format_to_format(folder: Path, shell: Shell) -> None:
    text = "0 ||| a b ||| score=1.0 words=2.0 ||| 0.5\n1 ||| a ||| score=3.0 words=1.0 ||| 2.75\n"
    (folder / "lists.nbest").write_text(text)
    for target in ("other.jsonl", "other.hull"):
        shell(f"convert lists.nbest {target} --quiet")
        shell(f"convert {target} again.nbest --quiet")
        assert (folder / "again.nbest").read_text() == text
    shell("convert lists.nbest lists.forest --to forest --quiet")
    assert list(kbest(read("lists.forest").corpus, WEIGHTS, 10).texts) == ["a b", "a"]


def test_pruning_tells_what_it_keeps(folder: Path, shell: Shell) -> None:
    shell("convert dev.forest small.hull --beam 0.5 --weights dev.w")
    small, whole = read("small.hull"), read("dev.forest")
    assert f"{small.corpus.edges} of {whole.corpus.edges} edges" in shell.said
    assert "the envelope keeps" in shell.said
    assert decode(small.corpus, WEIGHTS).outputs() == decode(whole.corpus, WEIGHTS).outputs()
    shell("convert dev.forest thin.hull --density 1 --weights dev.w --quiet")
    assert shell.said == ""
    assert read("thin.hull").corpus.edges < whole.corpus.edges
