"""Time exact lines, tuning and proofs of rankings, and compare what is found with CMA-ES on held-out queries.

Run: python -m benchmarks.rankings [--quick] [--check]
Writes benchmarks/results/rankings.json. One core. Lines are searched sixteen at a time, from scores to the surface;
milliseconds are of one line, the best of several runs. Real data are the runs in ../shared/data/retrieval.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np
from numpy.typing import NDArray

from benchmarks.harness import finish, options_of, table, verdict
from hulltune import Certified, Dataset, LineCma, read, tune
from hulltune.data.lists import lists_of_texts
from hulltune.search.problem import Problem

Floats = NDArray[np.float64]
CRANFIELD = Path(__file__).resolve().parents[1] / "../shared/data/retrieval/cranfield"
RUNS = ("bm25", "bm25_title", "tfidf", "char", "lsa", "ql", "dense")
PROVEN = (("bm25", "dense"), ("bm25", "lsa", "dense"), ("bm25", "bm25_title", "lsa", "dense"))
WITHIN = (0.005, 0.45, 8.0)
"""The seconds in which the best weights of two, three and four rankers should be proven."""
FOUND = (("hulltune", ""), ("CMA-ES, 3000 points", "_cma"), ("equal", "_equal"))


def made_up(queries: int, documents: int, features: int, relevant: int = 8, seed: int = 1) -> Dataset:
    """Queries whose relevant documents score higher on average, with random scores."""
    random = np.random.default_rng(seed)
    scores = random.normal(size=(queries * documents, features))
    grades = np.zeros((queries, documents), dtype=np.int64)
    grades[:, :relevant] = random.integers(1, 4, size=(queries, relevant))
    scores += 0.5 * grades.reshape(-1, 1) * random.random(features)
    texts = [f"d{number}" for number in range(documents)] * queries
    references = tuple(tuple(f"{grade} d{number}" for number, grade in enumerate(row[:relevant])) for row in grades)
    return lists_of_texts(
        [f"q{number}" for number in range(queries)], np.arange(queries + 1, dtype=np.int64) * documents, texts, scores,
        tuple(f"f{number}" for number in range(features)), references=references,
    )  # fmt: skip


def cranfield(names: tuple[str, ...] = RUNS) -> Dataset:
    """The real lists of some rankers, with judgements."""
    return read([CRANFIELD / f"{name}.run.gz" for name in names], CRANFIELD / "qrels.gz")


def best_of(call: Callable[[], Any], repeats: int) -> tuple[float, Any]:
    """The least seconds of CPU time, and the last answer."""
    best, answer = float("inf"), None
    for _ in range(repeats):
        before = time.process_time()
        answer = call()
        best = min(best, time.process_time() - before)
    return best, answer


def lines(*, repeats: int) -> list[dict[str, Any]]:
    """Milliseconds of a free line of each measure, and of one between non-negative weights."""
    made: list[tuple[str, Dataset, float]] = [
        ("200 x 1000 x 7", made_up(200, 1000, 7), 20.0),
        ("2000 x 100 x 7", made_up(2000, 100, 7), 60.0),
    ]
    if CRANFIELD.is_dir():
        made.insert(0, ("Cranfield, 225 x 245 x 7", cranfield(), 4.0))
    results = []
    for name, data, target in made:
        random = np.random.default_rng(1)
        origin = np.full(len(data.feature_names), 0.5)
        directions = random.normal(size=(16, len(origin)))
        for metric in ("ndcg@10", "mrr@10", "map", "recall@100"):
            problem = Problem.of(data, metric)
            for ends in ((-np.inf, np.inf), (0.0, 1.0)):
                intervals = np.tile(ends, (16, 1))
                seconds, found = best_of(partial(problem.surfaces, origin, directions, intervals), repeats)
                free = np.isinf(ends[0])
                results.append(
                    {
                        "data": name, "metric": metric, "line": "free" if free else "0 to 1",
                        "ms": 1e3 * seconds / 16, "breakpoints": float(np.mean([len(each) - 1 for each in found])),
                        "target": target if free and metric == "ndcg@10" else None,
                    }
                )  # fmt: skip
    return results


def whole_runs() -> list[dict[str, Any]]:
    """Seconds of a default tuning of seven rankers from their files, and of the proofs of two to four."""
    found = []
    files = [CRANFIELD / f"{name}.run.gz" for name in RUNS]
    seconds, result = best_of(lambda: tune(files, CRANFIELD / "qrels.gz", metric="ndcg@10", threads=1), 2)
    found.append({"what": "tune seven rankers, from files", "seconds": seconds, "score": result.score, "target": 2.0})
    two = Problem.of(cranfield(PROVEN[0]), "ndcg@10")
    ends = np.array([1.0, 0.0]), np.array([[-1.0, 1.0]]), np.array([[0.0, 1.0]])
    seconds, (curve,) = best_of(lambda: two.surfaces(*ends), 5)
    score = float(two.metric.score(curve.statistics).max())
    found.append({"what": "the whole curve of bm25, dense", "seconds": seconds, "score": score, "target": WITHIN[0]})
    for names, target in zip(PROVEN, (None, *WITHIN[1:]), strict=True):
        data = cranfield(names)
        before = time.process_time()
        result = tune(data, metric="ndcg@10", search=Certified(gap=0), threads=1, oracle=False)
        certificate = result.certificate
        assert certificate is not None
        found.append(
            {
                "what": f"prove {', '.join(names)}", "seconds": certificate.seconds, "score": result.score,
                "bound": certificate.bound, "boxes": certificate.boxes, "target": target,
                "whole": time.process_time() - before,
            }
        )  # fmt: skip
    return found


def halvings(count: int) -> dict[str, Any]:
    """Scores on the half of the queries that is tuned on and on the other half, beside CMA-ES over the same weights."""
    import cma

    data, rows = cranfield(), []
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(len(data))
        halves = [data.take(np.sort(order[: len(data) // 2])), data.take(np.sort(order[len(data) // 2 :]))]
        tuned_on, held = (Problem.of(half, "ndcg@10") for half in halves)
        found = tune(halves[0], metric="ndcg@10", seed=seed + 1, threads=1)
        weights = np.array(list(found.weights.values()))

        def loss(point: Floats, problem: Problem = tuned_on) -> float:
            return problem.loss(np.abs(point)) if np.any(point) else 0.0

        search = cma.CMAEvolutionStrategy(
            np.full(len(RUNS), 0.5), 0.3, {"maxfevals": 3000, "seed": seed + 1, "verbose": -9}
        )
        best = np.abs(search.optimize(loss).result.xbest)
        equal = np.ones(len(RUNS))
        rows.append([problem.score(each) for problem in (tuned_on, held) for each in (weights, best, equal)])
    mean = np.mean(rows, axis=0)
    difference = np.array(rows)[:, 3] - np.array(rows)[:, 4]
    return {
        "splits": count, "train": mean[0], "train_cma": mean[1], "train_equal": mean[2],
        "held": mean[3], "held_cma": mean[4], "held_equal": mean[5],
        "held_error": float(difference.std(ddof=1) / np.sqrt(count)),
    }  # fmt: skip


def large() -> dict[str, Any]:
    """Seconds and memory of tuning 10,000 queries with 120 documents of 136 features."""
    data = made_up(10_000, 120, 136)
    before = time.process_time()
    # One search from the start and one from a logistic regression: with so many weights a restart takes minutes.
    search = LineCma(restarts=1, max_rounds=20)
    result = tune(data, metric="ndcg@10", threads=1, oracle=False, search=search)
    return {
        "seconds": time.process_time() - before, "line_searches": result.line_searches, "score": result.score,
        "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "features_gigabytes": data.corpus.edges * 136 * 8 / 2**30,
    }  # fmt: skip


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--quick", action="store_true", help="fewer repetitions, and no large data")
    options = parser.parse_args()
    result: dict[str, Any] = {"lines": lines(repeats=3 if options.quick else 9)}
    rows: list[tuple[object, ...]] = [
        (r["data"], r["metric"], r["line"], f"{r['ms']:.2f}", f"{r['breakpoints']:,.0f}",
         "" if r["target"] is None else verdict(r["ms"], r["target"]))
        for r in result["lines"]
    ]  # fmt: skip
    print(
        table("exact lines", ("queries x documents x rankers", "metric", "line", "ms", "breakpoints", "target"), rows)
    )
    if CRANFIELD.is_dir():
        result["whole"] = whole_runs()
        rows = [
            (
                r["what"],
                f"{r['seconds']:.3f}",
                f"{r['score']:.8f}",
                r.get("boxes", ""),
                "" if r["target"] is None else verdict(r["seconds"], r["target"]),
            )
            for r in result["whole"]
        ]
        print(table("Cranfield, nDCG@10", ("what", "CPU s", "score", "boxes", "target"), rows))
        result["halvings"] = halves = halvings(2 if options.quick else 5)
        rows = [(name, f"{halves[f'train{key}']:.4f}", f"{halves[f'held{key}']:.4f}") for name, key in FOUND]
        print(table(f"mean of {halves['splits']} halvings of the queries", ("weights", "tuned on", "held out"), rows))
    if not options.quick:
        result["large"] = large()
        print(table("10,000 queries x 120 documents x 136 features", ("what", "value"), list(result["large"].items())))
    return finish(options, "rankings", result)


if __name__ == "__main__":
    sys.exit(main())
