"""The lattices of the decoder: the derivations of its forests, also after a way through files."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from hulltune import Corpus, Forest, InputError, decode, kbest, read
from hulltune.cli import main
from hulltune.cli.answers import note_left_out
from hulltune.data.union import with_common_features
from hulltune.demo import (
    FEATURES,
    START_WEIGHTS,
    BuiltInDecoder,
    Translator,
    built_in_task,
    built_in_translator,
    translate_to_forests,
    translate_to_lattices,
)
from hulltune.demo.fragment import examples
from tests.demo.test_translation import in_forest, rounded
from tests.oracles import count_derivations

SOURCES = [example.german for example in examples(60, seed=31)]
SHORT = [source for source in SOURCES if len(source.split()) <= 6]
ODD = ["", "Quark", ",", "Anna Quark (2) nicht"]


@pytest.fixture(scope="module")
def translator() -> Translator:
    return built_in_translator(beam=4, text=100, pairs=20)


def multiset(forest: Forest) -> Counter[tuple[tuple[str, ...], tuple[float, ...]]]:
    return Counter((words, rounded(features)) for words, features in in_forest(forest))


def test_a_lattice_has_every_derivation_as_often_as_the_forest(translator: Translator) -> None:
    sources = [*SHORT, *ODD]
    forests = translate_to_forests(translator, sources, START_WEIGHTS)
    lattices = translate_to_lattices(translator, sources, START_WEIGHTS)
    for forest, lattice in zip(forests, lattices, strict=True):
        assert lattice.left_out == 0
        assert lattice.forest.arity <= 1
        assert multiset(lattice.forest) == multiset(forest)


def test_lattices_of_long_sentences_have_the_same_best_under_any_weights(translator: Translator) -> None:
    long = [source for source in SOURCES if len(source.split()) > 12]
    forests = Corpus.pack(list(translate_to_forests(translator, long, START_WEIGHTS)))
    lattices = Corpus.pack([each.forest for each in translate_to_lattices(translator, long, START_WEIGHTS)])
    assert [count_derivations(lattice) for lattice in lattices] == [count_derivations(forest) for forest in forests]
    rng = np.random.default_rng(7)
    compared = 0
    for _ in range(20):
        weights = rng.normal(size=len(FEATURES))
        ours, theirs = decode(lattices, weights), decode(forests, weights)
        assert np.allclose(ours.intercepts, theirs.intercepts, rtol=1e-12, atol=1e-9)
        second = kbest(forests, weights, 2, distinct=True)
        for number, (one, other) in enumerate(zip(ours.outputs(), theirs.outputs(), strict=True)):
            ranked = second[number]
            if len(ranked) < 2 or ranked[0].score - ranked[1].score > 1e-9:
                assert one == other
                compared += 1
    assert compared > 10 * len(long)  # the others have several best


def test_a_lattice_that_is_too_large_loses_its_worst_derivations(translator: Translator) -> None:
    sources = [source for source in SOURCES if len(source.split()) > 12][:4]
    weights = {**START_WEIGHTS, "words": 0.3}
    whole = list(translate_to_lattices(translator, sources, weights))
    small = list(translate_to_lattices(translator, sources, weights, most_edges=90))
    vector = [weights[name] for name in FEATURES]
    for before, after in zip(whole, small, strict=True):
        assert after.forest.edges <= 91  # and one for the start
        assert (after.left_out > 0) == (before.forest.edges > 91)
        assert decode(after.forest, vector).outputs() == decode(before.forest, vector).outputs()
    assert any(each.left_out for each in small)
    with pytest.raises(InputError, match="sentence 0: its best translation alone has more than 3 edges"):
        list(translate_to_lattices(translator, sources, weights, most_edges=3))


def test_files_of_lattices_are_read_back(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, output = tmp_path / "dev.de", tmp_path / "lattices"
    sources = [*SHORT[:12], "", "Quark"]
    source.write_text("".join(f"{line}\n" for line in sources), encoding="utf-8")
    assert main(["decode", "--input", str(source), "--output", str(output), "--lattice", "--beam", "3"]) == 0
    assert sorted(path.name for path in output.iterdir()) == sorted(f"{n}.slf" for n in range(len(sources)))
    found = read(output)
    assert set(found.corpus.feature_names) == set(FEATURES)
    expected = translate_to_forests(built_in_translator(beam=3), sources, START_WEIGHTS)
    for forest, lattice in zip(expected, found.corpus, strict=True):
        (same,) = with_common_features([lattice], FEATURES)
        assert multiset(same) == multiset(forest)
    capsys.readouterr()
    assert main(["info", str(output)]) == 0
    assert "14 sentences" in capsys.readouterr().out


def test_the_loop_with_lattices(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Along axes the scores are those with forests; where outputs tie, they could differ."""
    task = built_in_task(12, seed=3)
    files = {"in": task.sources, "ref": task.references}
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    said = {}
    for kind in ("--lattice", "--forest"):
        command = ["loop", "--input", str(tmp_path / "in"), "--ref", str(tmp_path / "ref"), "--run"]
        options = ["--iterations", "2", "--restarts", "0", "--search", "coordinate", "--quiet", kind]
        assert main([*command, str(tmp_path / kind), *options]) == 0
        said[kind] = [line for line in capsys.readouterr().out.splitlines() if line.startswith("tuning set")]
    assert said["--lattice"] == said["--forest"]


def test_lattices_or_forests(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(InputError, match="lattices, forests: expected one of them"):
        BuiltInDecoder(["Anna"], lattices=True, forests=True)
    assert main(["decode", "--input", "x", "--output", "y", "--lattice", "--forest"]) == 2
    assert "--forest: not allowed with argument --lattice" in capsys.readouterr().err


def test_a_note_says_what_was_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    note_left_out({})
    assert not capsys.readouterr().err
    note_left_out({2: 1000, 5: 234})
    assert "2 sentences (line 3, 6) would have had too large a lattice: 1,234 edges" in capsys.readouterr().err
