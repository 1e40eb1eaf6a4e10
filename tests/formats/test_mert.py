"""FEATSTAT and SCORESTAT files of Moses: features and statistics that are tuned on without texts."""

from __future__ import annotations

import gzip
import math
import random
import struct
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import Dataset, InputError, best_reachable, compare, line_search, read, rerank, score, tune
from hulltune.formats import pack
from hulltune.formats.mert import looks_like
from hulltune.metrics import get_metric
from tests.formats.refusals import refusal

Hypothesis = tuple[list[float], list[float]]
"""Features and statistics."""
NAMES = ("LM0_0", "TM0_0", "TM0_1")


def small() -> dict[int, list[Hypothesis]]:
    return {
        0: [([1.0, 2.0, -0.5], [3, 4, 2, 3, 1, 2, 1, 1, 5]), ([0.25, -2.0, 3.0], [4, 5, 3, 4, 2, 3, 1, 2, 5])],
        2: [([-1.0, 0.0, 0.5], [2, 6, 1, 5, 0, 4, 0, 3, 6])],
    }


def features_text(lists: dict[int, list[Hypothesis]], names: tuple[str, ...] = NAMES) -> bytes:
    lines = []
    for sentence, rows in lists.items():
        lines.append(f"FEATURES_TXT_BEGIN_0 {sentence} {len(rows)} {len(names)} {' '.join(names)} ")
        lines += [" ".join(map(repr, values)) + " " for values, _ in rows]
        lines.append("FEATURES_TXT_END_0")
    return ("\n".join(lines) + "\n").encode()


def scores_text(lists: dict[int, list[Hypothesis]], kind: str = "BLEU") -> bytes:
    lines = []
    for sentence, rows in lists.items():
        lines.append(f"SCORES_TXT_BEGIN_0 {sentence} {len(rows)} {len(rows[0][1])} {kind}")
        lines += [" ".join(f"{value:g}" for value in counts) + " " for _, counts in rows]
        lines.append("SCORES_TXT_END_0")
    return ("\n".join(lines) + "\n").encode()


def features_binary(lists: dict[int, list[Hypothesis]]) -> bytes:
    content = b""
    for sentence, rows in lists.items():
        content += f"FEATURES_BIN_BEGIN_0 {sentence} {len(rows)} {len(NAMES)} {' '.join(NAMES)} \n".encode()
        content += b"".join(struct.pack(f"<{len(values)}f", *values) for values, _ in rows) + b"FEATURES_BIN_END_0\n"
    return content


def scores_binary(lists: dict[int, list[Hypothesis]], kind: str = "BLEU") -> bytes:
    content = b""
    for sentence, rows in lists.items():
        content += f"SCORES_BIN_BEGIN_0 {sentence} {len(rows)} {len(rows[0][1])} {kind}\n".encode()
        content += b"".join(struct.pack(f"<{len(counts)}i", *map(int, counts)) for _, counts in rows)
        content += b"SCORES_BIN_END_0\n"
    return content


def pair(folder: Path, features: bytes, scores: bytes, name: str = "run1") -> list[Path]:
    paths = [folder / f"{name}.features.dat", folder / f"{name}.scores.dat"]
    paths[0].write_bytes(features)
    paths[1].write_bytes(scores)
    return paths


def same(one: Dataset, other: Dataset) -> bool:
    return (
        one.feature_names == other.feature_names
        and one.texts() == other.texts()
        and list(one.ids) == list(other.ids)
        and np.array_equal(one.corpus.features.toarray(), other.corpus.features.toarray())
    )


def test_features_and_statistics(tmp_path: Path) -> None:
    lists = read(pair(tmp_path, features_text(small()), scores_text(small())))
    assert lists.feature_names == ("LM0", "TM0_0", "TM0_1")  # as lists and moses.ini have them
    assert list(lists.ids) == [0, 1, 2]
    assert lists.texts() == ["BLEU 3 4 2 3 1 2 1 1 5", "BLEU 4 5 3 4 2 3 1 2 5", "BLEU 2 6 1 5 0 4 0 3 6"]
    assert lists.corpus.features.toarray().tolist() == [[1, 2, -0.5], [0.25, -2, 3], [-1, 0, 0.5]]
    assert {origin.format for origin in lists.provenance} == {"mert"}


@pytest.mark.parametrize("pack_bytes", [bytes, gzip.compress])
def test_text_and_binary_files_plain_and_compressed(tmp_path: Path, pack_bytes: Any) -> None:
    expected = read(pair(tmp_path, features_text(small()), scores_text(small())))
    for features in (features_text(small()), features_binary(small()), features_text(small()).replace(b"\n", b"\r\n")):
        for scores in (
            scores_text(small()),
            scores_binary(small()),
            b"\n" + scores_text(small()).replace(b" ", b"\t "),
        ):
            assert looks_like(features)
            assert looks_like(scores)
            assert same(read(pair(tmp_path, pack_bytes(features), pack_bytes(scores))), expected)


def test_the_files_may_be_given_in_any_order_and_the_lists_in_another(tmp_path: Path) -> None:
    paths = pair(tmp_path, features_text(small()), scores_text(dict(reversed(small().items()))))
    assert same(read(paths), read(paths[::-1]))


def test_several_runs_are_joined(tmp_path: Path) -> None:
    first = pair(tmp_path, features_text(small()), scores_text(small()))
    others: dict[int, list[Hypothesis]] = {2: [([9.0, 9.0, 9.0], [1, 1, 0, 0, 0, 0, 0, 0, 6])], 0: small()[0][:1]}
    second = pair(tmp_path, features_text(others), scores_text(others), "run2")
    joined = read([*first, *second])
    assert joined.texts()[3] == "BLEU 1 1 0 0 0 0 0 0 6"
    assert joined.duplicates == 1
    whole = pair(
        tmp_path, features_text(small()) + features_text(others), scores_text(small()) + scores_text(others), "all"
    )
    assert same(read(whole), joined)
    assert same(read([first[0], second[0], first[1], second[1]]), joined)
    assert same(read([str(tmp_path / "run*.features.dat"), str(tmp_path / "run*.scores.dat")]), joined)


def test_sparse_features(tmp_path: Path) -> None:
    features = (
        features_text(small())
        .replace(b"-0.5 \n", b"-0.5 pp_a~b=1 wt_x=y=0.5 \n")
        .replace(b" 3.0 \n", b" 3.0 pp_a~b=2\n")
    )
    lists = read(pair(tmp_path, features, scores_text(small())))
    assert lists.feature_names == ("LM0", "TM0_0", "TM0_1", "pp_a~b", "wt_x=y")
    assert lists.corpus.features.toarray()[:, 3:].tolist() == [[1, 0.5], [2, 0], [0, 0]]
    assert lists.omitted == {"pp_a~b": 1, "wt_x=y": 2}


@pytest.mark.parametrize(
    ("names", "expected"),
    [
        (("d_0", "lm_0", "w_0"), ("d", "lm", "w")),
        (("hmm", "lm", "wip"), ("hmm", "lm", "wip")),
        (("a_0", "a_1", "a"), ("a_0", "a_1", "a")),
        (("a_0", "a", "b_1"), ("a_0", "a", "b_1")),
    ],
)
def test_names(tmp_path: Path, names: tuple[str, ...], expected: tuple[str, ...]) -> None:
    assert read(pair(tmp_path, features_text(small(), names), scores_text(small()))).feature_names == expected
    unnamed = features_text(small(), names).replace(b" ".join(name.encode() for name in names), b"")
    assert read(pair(tmp_path, unnamed, scores_text(small()))).feature_names == ("feature_0", "feature_1", "feature_2")


# Scores, by an independent computation.


def mert_bleu(totals: list[float]) -> float:
    """BLEU of summed statistics by the formula of Moses' mert: 0 if there are no matches of some order."""
    if not all(totals[0:8:2]):
        return 0.0
    logs = sum(math.log(totals[2 * n]) - math.log(totals[2 * n + 1]) for n in range(4)) / 4
    return 100 * math.exp(logs + min(0.0, 1 - totals[8] / totals[1]))


def counts_of(words: list[str], reference: list[str]) -> list[float]:
    """The statistics that Moses' extractor writes for BLEU."""
    counts: list[float] = []
    for order in range(1, 5):
        ours, theirs = (
            Counter(tuple(text[i : i + order]) for i in range(len(text) - order + 1)) for text in (words, reference)
        )
        counts += [sum((ours & theirs).values()), sum(ours.values())]
    return [*counts, len(reference)]


def random_task(sentences: int = 30) -> tuple[str, list[str], dict[int, list[Hypothesis]]]:
    """Lists in the Moses format, references, and the same lists as features and statistics."""
    generator = random.Random(3)
    lines: list[str] = []
    references: list[str] = []
    lists: dict[int, list[Hypothesis]] = {}
    for sentence in range(sentences):
        reference = [generator.choice("abcdef") for _ in range(generator.randint(4, 12))]
        references.append(" ".join(reference))
        lists[sentence] = []
        for _ in range(8):
            words = [generator.choice("abcdef") if generator.random() < 0.4 else word for word in reference]
            words = words[: generator.randint(2, 14)]
            values = [round(generator.gauss(0, 1), 3) for _ in range(3)]
            lists[sentence].append((values, counts_of(words, reference)))
            lines.append(f"{sentence} ||| {' '.join(words)} ||| LM0= {values[0]} TM0= {values[1]} {values[2]} ||| 0\n")
    return "".join(lines), references, lists


def test_the_score_is_that_of_mert(tmp_path: Path) -> None:
    _, _, lists = random_task()
    dataset = read(pair(tmp_path, features_text(lists), scores_text(lists)))
    generator = random.Random(5)
    for _ in range(20):
        weights = [generator.gauss(0, 1) for _ in range(3)]
        picks = [max(rows, key=lambda row: sum(map(float.__mul__, weights, row[0]))) for rows in lists.values()]
        totals = [sum(column) for column in zip(*(counts for _, counts in picks), strict=True)]
        assert score(dataset, weights, metric="bleu") == pytest.approx(mert_bleu(totals), rel=1e-12)
        assert rerank(dataset, weights) == ["BLEU " + " ".join(f"{c:g}" for c in counts) for _, counts in picks]


def test_tuning_is_that_of_the_lists_and_references(tmp_path: Path) -> None:
    lines, references, lists = random_task()
    (tmp_path / "nbest").write_text(lines)
    paths = pair(tmp_path, features_text(lists), scores_text(lists))
    on_texts = "bleu:tokenize=none,smooth_method=none"
    texts = tune(tmp_path / "nbest", references, metric=on_texts, seed=1)
    given = tune(paths, metric="bleu", seed=1, folds=3)
    assert (given.baseline, given.oracle) == (texts.baseline, texts.oracle)
    assert score(tmp_path / "nbest", given.weights, references, metric=on_texts) == given.score
    assert score(paths, texts.weights, metric="bleu") == texts.score
    assert given.score >= texts.baseline
    assert given.heldout is not None
    assert given.metric.startswith("bleu|statistics:moses|order:4|smooth:none|")
    assert not given.others


def test_held_out_files(tmp_path: Path) -> None:
    _, _, lists = random_task()
    unseen = pair(tmp_path, features_text(small()), scores_text(small()), "unseen")
    result = tune(pair(tmp_path, features_text(lists), scores_text(lists)), heldout=unseen, metric="bleu", seed=1)
    assert result.heldout is not None
    assert result.heldout.score == score(unseen, result.weights, metric="bleu")


def test_no_references_are_made_up(tmp_path: Path) -> None:
    lines, references, lists = random_task(8)
    (tmp_path / "nbest").write_text(lines)
    dataset = read(pair(tmp_path, features_text(lists), scores_text(lists)))
    assert dataset.references is None
    old, new = dict.fromkeys(dataset.feature_names, 1.0), dict.fromkeys(dataset.feature_names, -1.0)
    given = compare(dataset, old, new, metric="bleu")
    texts = compare(tmp_path / "nbest", old, new, references, metric="bleu:tokenize=none,smooth_method=none")
    assert (given.old_score, given.new_score) == (texts.old_score, texts.new_score)
    assert [change.gain for change in given.changes] == [change.gain for change in texts.changes]
    step = line_search(dataset, old, dict.fromkeys(dataset.feature_names, -0.5), metric="bleu")
    assert step.loss == get_metric("bleu").score_of(score(dataset, step.weights.tolist(), metric="bleu"))


def test_certified_search_and_packed_files(tmp_path: Path) -> None:
    lines, references, lists = random_task(6)
    (tmp_path / "nbest").write_text(lines)
    dataset = read(pair(tmp_path, features_text(lists), scores_text(lists)))
    pack(dataset, tmp_path / "a.hull")
    constraint = {"search": "certified", "seed": 1}
    texts = tune(tmp_path / "nbest", references, metric="bleu:tokenize=none,smooth_method=none", **constraint)  # type: ignore[arg-type]
    given = tune(tmp_path / "a.hull", metric="bleu", **constraint)  # type: ignore[arg-type]
    assert given.score == texts.score
    assert best_reachable(tmp_path / "a.hull", metric="bleu").score == best_reachable(dataset, metric="bleu").score


@pytest.mark.parametrize(("kind", "scale"), [("TER", 100.0), ("WER", 1.0)])
def test_error_rates(tmp_path: Path, kind: str, scale: float) -> None:
    lists: dict[int, list[Hypothesis]] = {
        0: [([1.0, 0.0, 0.0], [300, 1000, 30]), ([0.0, 1.0, 0.0], [100, 1000, 10])],
        1: [([1.0, 0.0, 0.0], [250, 550, 45]), ([0.0, 1.0, 0.0], [350, 550, 63])],
    }
    for scores in (scores_text(lists, kind), scores_binary(lists, kind)):
        dataset = read(pair(tmp_path, features_text(lists), scores))
        assert score(dataset, [1.0, 0.0, 0.0], metric=kind.lower()) == pytest.approx(scale * 550 / 1550)
        assert score(dataset, [0.0, 1.0, 0.0], metric=kind.lower()) == pytest.approx(scale * 450 / 1550)
        result = tune(dataset, metric=kind.lower(), seed=1)
        assert result.score == pytest.approx(scale * 450 / 1550)
        assert not result.higher_is_better
        assert best_reachable(dataset, metric=kind.lower()).score == pytest.approx(scale * 350 / 1550)
    halves: dict[int, list[Hypothesis]] = {0: [([1.0, 0.0, 0.0], [0.5, 2.5]), ([0.0, 1.0, 0.0], [1, 2.5])]}
    dataset = read(pair(tmp_path, features_text(halves), scores_text(halves, kind)))
    assert score(dataset, [1.0, 0.0, 0.0], metric=kind.lower()) == pytest.approx(scale * 0.2)


@pytest.mark.parametrize(
    ("metric", "kind", "message"),
    [
        ("ter", "BLEU", "metric ter: the files have no texts, only statistics of BLEU; give the metric bleu"),
        ("bleu - ter", "BLEU", "only statistics of BLEU; give the metric bleu"),
        ("bleu:smooth_method=add-k", "BLEU", "metric bleu: its options do not apply to statistics that are given"),
        ("bleu", "METEOR", "the files have statistics of METEOR; expected those of BLEU, TER, WER"),
        ("bleu", "BLEU,PER", "the files have statistics of BLEU,PER; expected those of BLEU, TER, WER"),
    ],
)
def test_the_metric_must_be_the_one_of_the_files(tmp_path: Path, metric: str, kind: str, message: str) -> None:
    dataset = read(pair(tmp_path, features_text(small()), scores_text(small(), kind)))
    for judge in (
        partial(tune, dataset, seed=1),
        partial(score, dataset, [1.0, 0.0, 0.0]),
        partial(best_reachable, dataset),
    ):
        with pytest.raises(InputError, match=message):
            judge(metric=metric)


def test_other_metrics_cannot_be_shown_beside(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="metric chrf: the files have no texts"):
        tune(pair(tmp_path, features_text(small()), scores_text(small())), metric="bleu", also=["chrf"], seed=1)


def test_statistics_that_are_too_few_or_negative(tmp_path: Path) -> None:
    for old, new in ((b"9 BLEU", b"8 BLEU"), (b"3 4 2 3 1 2 1 1 5", b"3 -4 2 3 1 2 1 1 5")):
        scores = scores_text(small()).replace(old, new)
        if old == b"9 BLEU":
            scores = scores.replace(b" 5 \n", b" \n").replace(b" 6 \n", b" \n")
        with pytest.raises(InputError, match=r"bleu: got 'BLEU 3 .*'; expected BLEU and 9 statistics from 0"):
            tune(pair(tmp_path, features_text(small()), scores), metric="bleu", seed=1)


# Faults.


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"FEATURES_TXT_BEGIN_0 0 2", b"FEATURES_TXT_BEGIN_0 0 3", r"features\.dat:4: a value is 'FEATURES_TXT_END_0'"),
        (
            b"FEATURES_TXT_BEGIN_0 0 2",
            b"FEATURES_TXT_BEGIN_0 0 1",
            r"features\.dat:3: got '0\.25 .*expected FEATURES_TXT_END_0",
        ),
        (b"_0 0 2 3 LM0_0", b"_0 0 2 4 LM0_0", r"features\.dat:1: 3 names for 4 features"),
        (
            b"_0 0 2 3 LM0_0",
            b"_0 0 two 3 LM0_0",
            r"features\.dat:1: got 'FEATURES_TXT_BEGIN_0 0 two .*; expected 'FEATURES",
        ),
        (b"TM0_1", b"TM0_0", r"features\.dat:1: two features of one name"),
        (
            b"FEATURES_TXT_BEGIN_0 2 1 3 LM0_0",
            b"FEATURES_TXT_BEGIN_0 2 1 3 LM1_0",
            r"features\.dat:5: 3 features .*unlike 3 ",
        ),
        (b"1.0 2.0 -0.5", b"1.0 nan -0.5", r"features\.dat:2: a value is 'nan'; expected a finite number"),
        (b"1.0 2.0 -0.5", b"1.0 -0.5", r"features\.dat:2: 2 values; expected 3"),
        (b"1.0 2.0 -0.5", b"1.0 2.0 -0.5 a=1 a=2", r"features\.dat:2: 'a=2'; expected every name once"),
        (b"1.0 2.0 -0.5", b"1.0 2.0 -0.5 LM0=2", r"features\.dat:2: feature 'LM0' occurs twice"),
        (b"1.0 2.0 -0.5", b"1.0 2.0 -0.5 a=x", r"features\.dat:2: feature 'a' is 'x'; expected a finite number"),
        (b"1.0 2.0 -0.5", b"1.0 \xff -0.5", r"features\.dat:2: not UTF-8"),
        (b"BEGIN_0 2 1", b"BEGIN_0 3 1", r"features\.dat:5: sentence 3, of which .*scores\.dat has nothing"),
        (
            b"FEATURES_TXT_END_0\nFEA",
            b"FEATURES_TXT_FIN_0\nFEA",
            r"features\.dat:4: got 'FEATURES_TXT_FIN_0'; expected FEATURES_TXT_END_0",
        ),
    ],
)
def test_features_at_fault(tmp_path: Path, old: bytes, new: bytes, message: str) -> None:
    assert old in features_text(small())
    with pytest.raises(InputError, match=message):
        read(pair(tmp_path, features_text(small()).replace(old, new), scores_text(small())))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b"9 BLEU", b"9", r"scores\.dat:1: no name of a metric; expected 'SCORES_TXT_BEGIN_0"),
        (
            b"SCORES_TXT_BEGIN_0 2 1 9 BLEU",
            b"SCORES_TXT_BEGIN_0 2 1 9 TER",
            r"scores\.dat:5: 9 statistics 'TER', unlike 9 'BLEU'",
        ),
        (b"3 4 2", b"3 x 2", r"scores\.dat:2: a value is 'x'; expected a finite number"),
        (b"3 4 2", b"3 a=4 2", r"scores\.dat:2: 'a=4'; expected a number"),
        (b"3 4 2", b"3 4", r"scores\.dat:2: 8 values; expected 9"),
    ],
)
def test_statistics_at_fault(tmp_path: Path, old: bytes, new: bytes, message: str) -> None:
    assert old in scores_text(small())
    with pytest.raises(InputError, match=message):
        read(pair(tmp_path, features_text(small()), scores_text(small()).replace(old, new)))


def test_files_that_do_not_belong_together(tmp_path: Path) -> None:
    paths = pair(tmp_path, features_text(small()), scores_text({**small(), 0: small()[0][:1]}))
    with pytest.raises(
        InputError, match=r"scores\.dat:1: sentence 0 has 1 rows of statistics, but .* has 2 of features"
    ):
        read(paths)
    with pytest.raises(
        InputError, match=r"scores\.dat:5: sentence 2 has 1 rows of statistics, but .* has 0 of features"
    ):
        read(pair(tmp_path, features_text({0: small()[0]}), scores_text(small())))
    for alone in paths:
        with pytest.raises(InputError, match="expected a file of statistics for each file of features"):
            read(alone)
    (tmp_path / "nbest").write_text("0 ||| a ||| x=1 ||| 0\n")
    with pytest.raises(InputError, match="the files are in different formats"):
        read([*paths, tmp_path / "nbest"])


def test_rows_at_fault_are_skipped_in_both_files(tmp_path: Path) -> None:
    features = features_text(small()).replace(b"1.0 2.0 -0.5", b"1.0 nan -0.5")
    lists = read(pair(tmp_path, features, scores_text(small())), on_error="skip")
    assert lists.texts() == ["BLEU 4 5 3 4 2 3 1 2 5", "BLEU 2 6 1 5 0 4 0 3 6"]
    assert [Path(fault.file).name + f":{fault.line}" for fault in lists.skipped] == ["run1.features.dat:2"]
    lists = read(
        pair(tmp_path, features_text(small()), scores_text(small()).replace(b"4 5 3", b"4 ? 3")), on_error="skip"
    )
    assert lists.texts() == ["BLEU 3 4 2 3 1 2 1 1 5", "BLEU 2 6 1 5 0 4 0 3 6"]


@pytest.mark.parametrize(("features", "scores"), [(features_text, scores_text), (features_binary, scores_binary)])
def test_files_cut_off_at_any_byte(tmp_path: Path, features: Any, scores: Any) -> None:
    whole = (features(small()), scores(small()))
    for number in range(2):
        for length in range(1, len(whole[number]) - 1):
            contents = list(whole)
            contents[number] = contents[number][:length]
            reason = refusal(partial(read, pair(tmp_path, *contents)))
            assert reason is not None
            assert "run1." in reason


def test_binary_values_that_are_no_numbers(tmp_path: Path) -> None:
    lists = small()
    lists[0][0][0][1] = math.nan
    with pytest.raises(InputError, match="sentence 0 has a value that is no finite number"):
        read(pair(tmp_path, features_binary(lists), scores_text(small())))


def test_what_looks_like_such_files() -> None:
    for other in (b"", b"FEATURES", b"FEATURES_TXT_BEGIN_01 0 1", b"0 ||| FEATURES_TXT_BEGIN_0 ||| a=1", b"BLEU 1 2 3"):
        assert not looks_like(other)
