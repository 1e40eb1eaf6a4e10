"""Commands over documents that rankers scored: weights for engines, runs that are written, and input that is odd."""

from __future__ import annotations

import gzip
import json
import shutil
from pathlib import Path

import pytest

from tests.cli.running import Shell

SHARED = Path(__file__).parents[3] / "shared/data/retrieval/cranfield"
QUERIES = [f"q{k}" for k in range(8)]


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two runs and judgements: of five documents, bm25 ranks the relevant one second, dense first."""
    monkeypatch.chdir(tmp_path)
    write_run("bm25", {query: {f"d{k}": 10.0 - k for k in range(5)} for query in QUERIES})
    write_run("dense", {query: {f"d{k}": 1.0 - 0.1 * abs(k - 1) for k in range(4)} for query in QUERIES})
    write_qrels({query: {"d1": 2, "d3": 0} for query in QUERIES})
    return tmp_path


def write_run(name: str, run: dict[str, dict[str, float]]) -> None:
    """Write the run of a ranker."""
    lines = []
    for query, documents in run.items():
        for rank, document in enumerate(sorted(documents, key=lambda d: -documents[d]), start=1):
            lines.append(f"{query} Q0 {document} {rank} {documents[document]!r} {name}")
    Path(f"{name}.run").write_text("\n".join(lines) + "\n")


def write_qrels(judged: dict[str, dict[str, float]]) -> None:
    """Write judgements."""
    lines = [
        f"{query} 0 {document} {grade:g}" for query, grades in judged.items() for document, grade in grades.items()
    ]
    Path("qrels").write_text("\n".join(lines) + "\n")


TUNE = "tune bm25.run dense.run --qrels qrels --metric ndcg@10 --quiet"


# Weights and where they go.


def test_weights_are_exported_with_their_normalisation(shell: Shell, here: Path) -> None:
    shell(f"{TUNE} --normalise l2 --window 3 --out w.json")
    (processor,) = json.loads(shell("export w.json --for opensearch"))["phase_results_processors"]
    assert processor["normalization-processor"]["normalization"] == {"technique": "l2"}
    linear = json.loads(shell("export w.json --for elasticsearch"))["retriever"]["linear"]
    assert linear["rank_window_size"] == 3
    shell("export w.json --for ltr --out ltr.json", code=2)
    assert "the ltr plugin has no normalisation l2" in shell.said.lower()
    assert not Path("ltr.json").exists()
    shell("export w.json --for vespa --normalise none --out profile.sd")
    assert "first-phase" in Path("profile.sd").read_text()
    Path("plain.txt").write_text("bm25 1\ndense 2\n")
    shell.refuses("export plain.txt --for ranx", "does not say how scores were normalised; give --normalise")
    assert "weights" in shell("export plain.txt --for ranx --normalise minmax")


def test_tune_writes_for_an_engine_and_scores_the_digits(shell: Shell, here: Path) -> None:
    out = shell("tune bm25.run dense.run --qrels qrels --metric ndcg@10 --normalise rrf --for langchain")
    assert "EnsembleRetriever(retrievers=[bm25, dense], weights=[" in out
    assert "the digits that are written score the same, 1" in shell.said


@pytest.mark.parametrize("command", ["rerank {} -w w.json", "score {} -w w.json --qrels qrels --metric mrr"])
def test_weights_of_another_normalisation_are_refused(shell: Shell, here: Path, command: str) -> None:
    shell(f"{TUNE} --normalise zscore --out w.json")
    line = command.format("bm25.run dense.run")
    shell(f"{line} --normalise zscore")
    shell.refuses(line, "zscore missing=least")
    shell.refuses(f"{line} --normalise zscore --window 2", "window=2")


@pytest.mark.skipif(not SHARED.is_dir(), reason="no shared data")
@pytest.mark.parametrize(("metric", "theirs"), [("ndcg@10", "ndcg_cut_10"), ("map", "map"), ("mrr", "recip_rank")])
def test_trec_eval_scores_the_run_that_is_written_as_tune_does(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, metric: str, theirs: str
) -> None:
    pytrec_eval = pytest.importorskip("pytrec_eval")
    monkeypatch.chdir(tmp_path)
    for name in ("bm25.run", "dense.run", "qrels"):
        with gzip.open(SHARED / f"{name}.gz") as packed, open(name, "wb") as plain:
            shutil.copyfileobj(packed, plain)
    tuned = shell.json(f"tune bm25.run dense.run --qrels qrels --metric {metric} --out w.json --restarts 1 --seed 3")
    shell("rerank bm25.run dense.run --weights w.json --as trec --out fused.run")
    run: dict[str, dict[str, float]] = {}
    judged: dict[str, dict[str, int]] = {}
    for line in Path("fused.run").read_text().splitlines():
        query, _, document, _, score, _ = line.split()
        run.setdefault(query, {})[document] = float(score)
    for line in Path("qrels").read_text().splitlines():
        query, _, document, grade = line.split()
        judged.setdefault(query, {})[document] = int(grade)
    # trec_eval keeps 24 bits of scores: ranks as scores keep the order that is written.
    ranks = {q: {d: -k for k, d in enumerate(sorted(each, key=lambda d: -each[d]))} for q, each in run.items()}
    found = pytrec_eval.RelevanceEvaluator(judged, {theirs}).evaluate(
        {query: {d: float(rank) for d, rank in each.items()} for query, each in ranks.items()}
    )
    assert len(found) == 225
    assert sum(each[theirs] for each in found.values()) / 225 == pytest.approx(tuned["score"], abs=1e-9)


# Odd input.


def test_what_does_not_count_is_told(shell: Shell, here: Path) -> None:
    write_qrels({"q0": {"d1": 1}, "q1": {"d2": 0}, "q2": {"d1": 1}, "other": {"d1": 1}})
    shell(TUNE.replace(" --quiet", ""))
    assert "5 queries without judgements, such as q3: not counted" in shell.said
    assert "1 judged query without documents: left out" in shell.said
    assert "1 query without a relevant document: counted as 0" in shell.said


def test_runs_of_other_queries_than_the_judgements_are_refused(shell: Shell, here: Path) -> None:
    write_qrels({"x1": {"d1": 1}})
    shell.refuses(TUNE, "has references by id, such as 'x1', and none for an id of the lists, such as 'q0'")


def test_distances_are_suspected_aloud_and_turned_round(shell: Shell, here: Path) -> None:
    write_run("dense", {query: {f"d{k}": 0.1 * abs(k - 1) for k in range(5)} for query in QUERIES})
    shell(TUNE.replace(" --quiet", ""))
    assert "relevant documents come last by dense: are these distances" in shell.said
    assert "(--negate dense)" in shell.said
    shell(f"{TUNE.replace(' --quiet', '')} --negate dense")
    assert "distances" not in shell.said
    assert shell.json(f"{TUNE} --negate dense")["score"] == 1.0


def test_grades_that_run_backwards_are_suspected_aloud(shell: Shell, here: Path) -> None:
    write_qrels({query: {"d3": 1, "d4": 1} for query in QUERIES})
    shell(TUNE.replace(" --quiet", ""))
    assert "relevant documents come last by every feature" in shell.said
    assert "or do the grades run backwards?" in shell.said


def test_ranks_that_disagree_with_scores_are_told(shell: Shell, here: Path) -> None:
    text = Path("dense.run").read_text()
    Path("dense.run").write_text(text.replace("q3 Q0 d1 1 ", "q3 Q0 d1 9 "))
    shell(TUNE.replace(" --quiet", ""))
    assert "dense.run: the ranks of 1 query disagree with the scores (query q3); scores decide" in shell.said


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("q3 Q0 d1", "q3 Q0 d0", "document d0 of query q3 again (first in line"),
        ("d1 1 1.0", "d1 1 nan", "the score is 'nan'; expected a finite number"),
        ("d1 1 1.0", "d1 1 inf", "the score is 'inf'; expected a finite number"),
    ],
)
def test_faulty_lines_of_runs_are_errors_or_skipped(shell: Shell, here: Path, old: str, new: str, message: str) -> None:
    text = Path("dense.run").read_text()
    Path("dense.run").write_text(text.replace(old, new, 1))
    shell.refuses(TUNE, message)
    assert "dense.run:" in shell.said
    shell(f"{TUNE.replace(' --quiet', '')} --on-error skip")
    assert message in shell.said


def test_a_run_that_is_cut_off_at_once_is_still_a_run(shell: Shell, here: Path) -> None:
    (here / "cut.run").write_text("q0 Q0 d1 1 2.5 cut\nq0 Q0 d2 2\n")
    shell.refuses("tune cut.run --qrels qrels --metric mrr", "cut.run:2: 4 fields; expected query, Q0, document")


def test_a_depth_beyond_the_lists_is_the_whole_list(shell: Shell, here: Path) -> None:
    deep = shell.json(TUNE.replace("ndcg@10", "ndcg@1000"))["score"]
    assert deep == shell.json(TUNE.replace("ndcg@10", "ndcg"))["score"]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("tune bm25.run dense.run --metric ndcg@10", "no judgements; give some (--qrels FILE)"),
        ("tune bm25.run dense.run --qrels qrels --metric bleu", "ndcg@10"),
        (
            "tune house.plf --ref refs --metric ndcg@10",
            "is for orders of the candidates of lists, and these are forests",
        ),
        ("tune bm25.run dense.run --qrels qrels --metric ndcg", None),
        ("tune bm25.run dense.run --qrels qrels --metric p", "expected a number of documents after it, such as p@10"),
        ("tune bm25.run dense.run --qrels qrels --metric ndcg@0", "depth"),
        ("tune bm25.run bm25.run --qrels qrels --metric mrr", "two runs have this name"),
    ],
)
def test_metrics_and_data_that_do_not_fit(shell: Shell, here: Path, line: str, message: str | None) -> None:
    Path("house.plf").write_text("((('a',0,1),('b',1,1),),)\n")
    Path("refs").write_text("a\n")
    if message is None:
        shell(f"{line} --quiet")
    else:
        shell.refuses(line, message)


@pytest.mark.parametrize("strategy", ["cma", "random", "coordinate", "powell", "gradient", "certified"])
def test_every_strategy_tunes_orders(shell: Shell, here: Path, strategy: str) -> None:
    found = shell.json(f"{TUNE} --search {strategy}")
    assert found["score"] == 1.0
    assert found["weights"]["dense"] > 0.0
