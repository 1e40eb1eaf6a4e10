"""Uses of the functions of the package on small data, which call kernels that commands do not call."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import hulltune
from hulltune.data.features import SparseFeatures
from hulltune.semirings import BooleanSemiring, Hull, HullSemiring, LogSemiring, RealSemiring, TropicalSemiring
from tests.results.files import write_all


def use_lines(folder: Path) -> None:
    """Envelopes by every method, decoding, derivations and pruning, with features of both kinds."""
    for name in ("lists.moses", "slf", "hypergraphs.forest"):
        for dtype in (np.float64, np.float32):
            data = hulltune.read(folder / name, dtype=dtype)
            weights = np.linspace(-1, 1, len(data.feature_names))
            methods = ("auto", "hull", "scan") if name == "lists.moses" else ("auto", "hull", "lanes")
            for method in methods:
                for derivations in (True, False):
                    hulltune.envelopes(data, weights, [weights[::-1]], method=method, derivations=derivations)
            hulltune.decode(data, weights)
            hulltune.kbest(data, weights, 3)
            hulltune.kbest(data, weights, 3, distinct=True)
            hulltune.sample(data, weights, 3)
            hulltune.prune(data, weights, beam=1.0)


def use_theory(folder: Path) -> None:
    """Inside and outside passes under every semiring that has a compiled one."""
    forest = hulltune.read(folder / "hypergraphs.forest").corpus[0]
    hulltune.inside(forest, BooleanSemiring(), [True] * forest.edges)
    hulltune.outside(forest, BooleanSemiring(), [True] * forest.edges)
    for semiring in (RealSemiring(), LogSemiring(), TropicalSemiring()):
        hulltune.inside(forest, semiring, [0.5] * forest.edges)
        hulltune.outside(forest, semiring, [0.5] * forest.edges)
    lines = [Hull.from_lines([(float(edge % 3), 1.0)]) for edge in range(forest.edges)]
    hulltune.inside(forest, HullSemiring(), lines)


def use_tuning(folder: Path) -> None:
    """Tuning, reranking, scoring and the rest on packed data."""
    for name, references in (("lists.moses", "lists.ref.0"), ("slf", "lattices.ref")):
        for dtype in (np.float64, np.float32):
            packed = folder / f"{name}.{np.dtype(dtype).name}.hull"
            hulltune.write(hulltune.read(folder / name, dtype=dtype), packed)
            data = hulltune.read(packed, folder / references)
            for metric in ("bleu", "chrf", "ter", "wer", "meteor"):
                result = hulltune.tune(data, metric=metric, search=hulltune.Climb(restarts=1))
                hulltune.score(data, result.weights, metric=metric)
            hulltune.rerank(data, result.weights)
            hulltune.best_reachable(data, metric="wer")


def use_many_features(folder: Path) -> None:
    """Tuning, searching, writing and reranking lists whose features are sparse rows."""
    rng = np.random.default_rng(1)
    records = [
        {
            "id": sentence,
            "refs": [f"a b c d e {sentence}"],
            "candidates": [
                {
                    "text": " ".join(rng.choice(list("abcde"), size=5)) + f" {sentence}",
                    "features": {f"f{k}": float(rng.normal()) for k in rng.choice(2000, size=5, replace=False)},
                }
                for _ in range(20)
            ],
        }
        for sentence in range(10)
    ]
    data = hulltune.read(records, missing=0)
    assert isinstance(data.corpus.features, SparseFeatures)
    hulltune.write(data, folder / "sparse.hull")
    for each in (data, hulltune.read(folder / "sparse.hull")):
        for search in (hulltune.Climb(restarts=1), hulltune.GradientClimb(restarts=1)):
            result = hulltune.tune(each, metric="wer", search=search)
        hulltune.rerank(each, result.weights)
        hulltune.kbest(each, result.weights, 3)
        hulltune.envelopes(each, result.weights, [{data.feature_names[0]: 1.0}])
        hulltune.best_reachable(each, metric="wer")


def use_odd_shapes(folder: Path) -> None:
    """Lists of one feature, of one hypothesis, and of very many features in text; lattices as text."""
    one = "0 ||| a b ||| x= 1 ||| 0\n0 ||| a b c ||| x= 2 ||| 0\n"
    alone = "0 ||| a b ||| x= 1 y= 2 ||| 0\n"
    many = "".join(f"0 ||| a {k} ||| x= 1 n{k}= 2 ||| 0\n" for k in range(300))
    (folder / "one.ref").write_text("a b\n")
    for number, text in enumerate((one, alone, many)):
        (folder / f"odd.{number}").write_text(text)
        for dtype in (np.float64, np.float32):
            data = hulltune.read(folder / f"odd.{number}", folder / "one.ref", dtype=dtype, missing=0)
            weights = dict.fromkeys(data.feature_names, 1.0)
            if text is not alone:
                weights = dict(hulltune.tune(data, metric="wer", search=hulltune.Climb(restarts=1)).weights)
            hulltune.rerank(data, weights)
            hulltune.best_reachable(data, metric="wer")
            hulltune.envelopes(data, weights, [weights])
            hulltune.write(data, folder / f"odd.{number}.jsonl")
    lattices = hulltune.read(folder / "slf")
    hulltune.write(lattices, folder / "text", format="openfst-text")
    for dtype in (np.float64, np.float32):
        hulltune.read(sorted(map(str, (folder / "text").iterdir())), dtype=dtype)


def use_all(folder: Path) -> None:
    """Use everything on data of its own, in a folder."""
    write_all(folder)
    for use in (use_lines, use_theory, use_tuning, use_many_features, use_odd_shapes):
        use(folder)
