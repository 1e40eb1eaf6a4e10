"""Comparisons of weights, against a reranking of the lists by hand."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jiwer
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from hulltune import Climb, Comparison, InputError, compare, read, rerank, score, tune
from hulltune.tuning.comparison import COLUMNS
from hulltune.tuning.comparison_text import columns, marked, wrapped
from tests.tuning.corpora import random_forests, random_lists, random_records

OLD = {"f0": 1.0, "f1": 0.25, "f2": -0.5}
NEW = {"f0": -0.25, "f1": 1.0, "f2": 1.0}


def bleu(outputs: list[str], references: list[str]) -> float:
    return float(BLEU(tokenize="none").corpus_score(outputs, [references]).score)


def shares(weights: dict[str, float], step: dict[str, float]) -> dict[str, Fraction]:
    parts = {name: Fraction(weights[name]) * Fraction(value) for name, value in step.items()}
    whole = sum(map(abs, parts.values()))
    return {name: part / whole if whole else Fraction(0) for name, part in parts.items()}


@pytest.mark.parametrize("seed", range(4))
def test_changes_gains_and_reasons_by_hand(seed: int) -> None:
    records = random_records(seed, empty=True)
    found = compare(records, OLD, NEW, metric="wer")
    references = [record["refs"][0] for record in records]
    old, new = rerank(records, OLD), rerank(records, NEW)
    assert [change.sentence for change in found.changes] == [k for k in range(12) if old[k] != new[k]]
    rates = jiwer.wer(references, list(old)), jiwer.wer(references, list(new))
    assert (found.old_score, found.new_score) == rates
    assert found.gain == rates[0] - rates[1]
    assert found.interval is not None
    assert found.interval.low <= found.interval.high
    for change in found.changes:
        k = change.sentence
        assert (change.id, change.references) == (k, (references[k],))
        assert (change.old, change.new) == (old.picks[k], new.picks[k])
        swapped = [*old[:k], new[k], *old[k + 1 :]]
        assert change.gain == jiwer.wer(references, old) - jiwer.wer(references, swapped)
        pairs = [jiwer.process_words([references[k]], [text]) for text in (old[k], new[k])]
        assert change.errors == tuple(each.substitutions + each.deletions + each.insertions for each in pairs)
        step = {name: change.new.features[name] - change.old.features[name] for name in change.old.features}
        step = {name: value for name, value in step.items() if value}
        before, after = shares(OLD, step), shares(NEW, step)
        assert set(change.reasons) == set(step)
        for name, (one, two) in change.reasons.items():
            assert one == pytest.approx(float(before[name]), abs=1e-15)
            assert two == pytest.approx(float(after[name]), abs=1e-15)
        grown = [(two or 0.0) - (one or 0.0) for one, two in change.reasons.values()]
        assert grown == sorted(grown, reverse=True)
        assert sum(one or 0.0 for one, _ in change.reasons.values()) <= 1e-15  # the old weights prefer the old pick
        assert sum(two or 0.0 for _, two in change.reasons.values()) >= -1e-15
    gains = [change.gain or 0.0 for change in found.changes]
    assert (found.better, found.worse) == (sum(gain > 0 for gain in gains), sum(gain < 0 for gain in gains))
    assert found.better + found.worse > 0


def test_gains_are_positive_when_better_in_both_directions() -> None:
    lists = random_lists(5)
    for name in ("bleu:tokenize=none", "wer", "ter", "1 - wer"):
        there, back = compare(lists, OLD, NEW, metric=name), compare(lists, NEW, OLD, metric=name)
        assert there.gain is not None
        assert there.gain == -(back.gain or 0.0) != 0.0
        is_higher = score(lists, NEW, metric=name) > score(lists, OLD, metric=name)
        assert (there.gain > 0) == (is_higher == there.higher_is_better)
        assert there.interval is not None
        assert there.interval.low <= there.gain <= there.interval.high
        assert [change.sentence for change in there.changes] == [change.sentence for change in back.changes]


def test_the_gain_of_a_sentence_for_a_metric_of_the_corpus() -> None:
    records = random_records(6)
    found = compare(records, OLD, NEW, metric="bleu:tokenize=none")
    references, old, new = [record["refs"][0] for record in records], rerank(records, OLD), rerank(records, NEW)
    for change in found.changes:
        k = change.sentence
        swapped = [*old[:k], new[k], *old[k + 1 :]]
        assert change.gain == pytest.approx(bleu(swapped, references) - bleu(list(old), references), abs=1e-10)
        assert change.errors is None
    assert found.counts == {}


def test_the_baseline_is_the_first_choice_and_has_no_weights() -> None:
    records = random_records(8)
    for record in records:
        for place, candidate in enumerate(record["candidates"]):
            candidate["score"] = float(place == 3)
    result = tune(records, metric="wer", search=Climb(restarts=2, directions=4), also=())
    found = compare(records, "baseline", result, metric="wer")
    assert (found.old, found.new) == ("baseline", "tuned")
    assert (found.old_score, found.new_score) == (result.baseline, result.score)
    assert found.interval == result.gain
    assert {change.old.index for change in found.changes} == {3}
    assert {share for change in found.changes for share, _ in change.reasons.values()} == {None}
    assert found.counts["new"] == result.counts["tuned"]
    back = compare(records, result, "baseline", metric="wer")
    assert back.gain == -(found.gain or 0.0)
    assert {share for change in back.changes for _, share in change.reasons.values()} == {None}
    assert "why" not in back.summary()
    assert "why" in found.summary()


def test_forests_by_text_and_their_baseline() -> None:
    forests, references = random_forests(3)
    old, new = {"lm": 1.0, "tm": 0.1, "length": 0.0}, {"lm": 0.1, "tm": 1.0, "length": 0.5}
    found = compare(forests, old, new, references, metric="wer")
    texts = [rerank(forests, weights) for weights in (old, new)]
    assert [change.sentence for change in found.changes] == [k for k in range(12) if texts[0][k] != texts[1][k]]
    assert all(change.old.index is None and change.old.features for change in found.changes)
    assert found.new_score == score(forests, new, references, metric="wer")
    with pytest.raises(InputError, match="baseline: forests have no first choice of their own"):
        compare(forests, "baseline", new, references, metric="wer")


def test_the_baseline_of_forests_with_weights_in_their_files(tmp_path: Path) -> None:
    for number, (good, bad) in enumerate([("-1.0", "-2.0"), ("-3.0", "-1.0")]):
        (tmp_path / f"{number}.slf").write_text(
            "VERSION=1.0\nlmscale=2.0\nacscale=1.0\nwdpenalty=0.0\nN=3 L=3\nI=0\nI=1\nI=2\n"
            f"J=0 S=0 E=1 W=good a=-1.0 l={good}\nJ=1 S=0 E=1 W=bad a=-1.0 l={bad}\nJ=2 S=1 E=2 W=!NULL a=0 l=0\n"
        )
    dataset = read(tmp_path)
    assert dataset.model is not None
    weights = dict.fromkeys(dataset.feature_names, 0.0) | {"language": -1.0}
    found = compare(dataset, "baseline", weights, ["good", "good"], metric="wer")
    assert [change.old.text for change in found.changes] == ["good", "bad"]
    assert [change.new.text for change in found.changes] == ["bad", "good"]
    assert found.changes[0].reasons["language"] == (-1.0, 1.0)


def test_the_baseline_of_lists_beside_forests(tmp_path: Path) -> None:
    (tmp_path / "0.nbest").write_text("0 ||| bad ||| acoustic=0 language=-9 words=1 ||| 5\n"
                                      "0 ||| good ||| acoustic=0 language=-1 words=1 ||| 1\n")  # fmt: skip
    (tmp_path / "1.slf").write_text(
        "VERSION=1.0\nlmscale=2.0\nacscale=1.0\nwdpenalty=0.0\nN=2 L=2\nI=0\nI=1\n"
        "J=0 S=0 E=1 W=good a=-1.0 l=-3.0\nJ=1 S=0 E=1 W=bad a=-1.0 l=-1.0\n"
    )
    both = read([str(tmp_path / "0.nbest"), str(tmp_path / "1.slf")], ids="name")
    weights = dict.fromkeys(both.feature_names, 0.0) | {"acoustic": 1e-3, "language": 1.0}
    assert both.model is None  # the files disagree, or one of them has none
    with pytest.raises(InputError, match="give the decoder's weights instead"):
        compare(both, "baseline", weights, ["good", "good"], metric="wer")
    both = replace(both, model={"acoustic": 1.0, "language": 2.0, "words": 0.0})
    found = compare(both, "baseline", {**weights, "language": -1.0}, ["good", "good"], metric="wer")
    assert [(change.old.text, change.new.text) for change in found.changes] == [("bad", "good")]
    assert found.changes[0].reasons["language"] == (-1.0, 1.0)  # decided by the decoder's weights
    found = compare(both, "baseline", weights, ["good", "good"], metric="wer")
    assert [(change.old.text, change.new.text) for change in found.changes] == [("bad", "good")]
    assert found.changes[0].reasons["language"] == (None, 1.0)  # a first choice of a list


def test_a_file_of_weights_may_be_called_baseline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("baseline").write_text("f0 1\nf1 0.25\nf2 -0.5\n")
    lists = random_lists(1)
    assert compare(lists, Path("baseline"), NEW, metric="wer").old_score == score(lists, OLD, metric="wer")
    assert compare(lists, "./baseline", NEW, metric="wer").changes == compare(lists, OLD, NEW, metric="wer").changes
    assert compare(lists, "baseline", NEW, metric="wer").old_score != score(lists, OLD, metric="wer")


def test_without_a_metric_no_references_are_needed() -> None:
    records = random_records(9)
    for record in records:
        del record["refs"]
    found = compare(records, OLD, NEW, metric=None)
    assert (found.metric, found.gain, found.old_score) == (None, None, None)
    assert {change.gain for change in found.changes} == {None}
    assert len(found.changes) == sum(a != b for a, b in zip(rerank(records, OLD), rerank(records, NEW), strict=True))
    assert repr(found).startswith("Comparison(old → new, ")
    assert "sentence" in found.summary()
    with pytest.raises(InputError, match="no references"):
        compare(records, OLD, NEW)


def test_another_candidate_with_the_same_text_is_no_change() -> None:
    lists = [{"refs": ["a"], "candidates": [{"text": "a", "features": {"x": 1.0, "y": 0.0}},
                                            {"text": "a", "features": {"x": 0.0, "y": 1.0}}]}]  # fmt: skip
    found = compare(lists, {"x": 1.0}, {"y": 1.0}, metric="wer")
    assert (found.changes, found.same_text) == ((), 1)
    assert found.summary().endswith("0 of 1 sentence changed; 1 more with the same text by another candidate")


def comparison() -> Comparison:
    candidates = [
        [("the cap sat", 1.0, 0.0), ("the cat sat", 0.0, 1.0)],
        [("a b", 1.0, 0.0), ("a x", 0.5, 2.0)],
        [("same", 1.0, 1.0)],
        [("u\tv", 1.0, 0.0), ('"w"', 0.0, 0.75)],
    ]
    references = ["the cat sat", "a b", "same", "z"]
    records = [
        {"refs": [reference], "candidates": [{"text": t, "features": {"am": a, "lm": b}} for t, a, b in each]}
        for reference, each in zip(references, candidates, strict=True)
    ]
    return compare(records, {"am": 1.0, "lm": 0.25}, {"am": 0.5, "lm": 1.0}, metric="wer")


EXPECTED = """\
      score      %     gain
old  0.2857  28.57           old
new  0.2857  28.57  +0.0000  new
"""

CHANGES = """\
3 of 4 sentences changed: 1 better, 1 worse, 1 as good as before

[-only in the old text-] {+only in the new text+}
why: the features that speak more for the new text than before, each with its share of the
difference of the model scores under the old and under the new weights; negative shares speak for
the old text

sentence 0: better by 0.14 (1 → 0 errors), candidate 0 → 1
  ref the cat sat
  old the [-cap-] sat
  new the {+cat+} sat
  why am -80 % → -33 %, lm +20 % → +67 %

sentence 1: worse by 0.14 (0 → 1 errors), candidate 0 → 1
  ref a b
  old a [-b-]
  new a {+x+}
  why am -50 % → -11 %, lm +50 % → +89 %"""


def test_the_readable_view() -> None:
    text = comparison().summary(most=2)
    assert text.startswith(EXPECTED)
    assert CHANGES in text
    assert text.endswith("… and 1 more sentence")
    assert "\x1b" not in text
    coloured = comparison().summary(most=2, colour=True)
    assert "\x1b[31m[-cap-]\x1b[0m" in coloured
    assert "\x1b[32m{+cat+}\x1b[0m" in coloured


def test_orders_of_changes() -> None:
    found = comparison()
    assert [change.sentence for change in found.sorted("best").changes] == [0, 3, 1]
    assert [change.sentence for change in found.sorted("worst").changes] == [1, 3, 0]
    assert found.sorted("worst").sorted("data") == found
    with pytest.raises(InputError, match="unknown order 'bset'; did you mean 'best'"):
        found.sorted("bset")


def test_json_has_everything() -> None:
    record = json.loads(json.dumps(comparison().to_dict()))
    assert (record["better"], record["worse"], record["sentences"]) == (1, 1, 4)
    assert record["changes"][0]["old"] == {
        "id": 0, "text": "the cap sat", "index": 0, "score": 1.0, "features": {"am": 1.0, "lm": 0.0},
    }  # fmt: skip
    assert record["changes"][0]["reasons"] == {"am": [-0.8, -1 / 3], "lm": [0.2, 2 / 3]}
    assert record["counts"]["new"]["substitutions"] == 2


def test_tables_read_back() -> None:
    found = comparison()
    rows = list(csv.DictReader(io.StringIO(found.tsv()), delimiter="\t"))
    assert tuple(rows[0]) == COLUMNS
    assert [row["old_text"] for row in rows] == [change.old.text for change in found.changes]
    assert [row["new_text"] for row in rows] == ["the cat sat", "a x", '"w"']
    assert [float(row["gain"]) for row in rows] == [change.gain for change in found.changes]
    assert (rows[0]["old_errors"], rows[0]["new_errors"], rows[0]["new_index"]) == ("1", "0", "1")
    assert rows[0]["reasons"] == "am=-0.8000>-0.3333 lm=0.2000>0.6667"


def test_notebooks_show_what_terminals_show() -> None:
    found = comparison()
    page = found._repr_html_()
    tree = ElementTree.fromstring(f"<div>{page.replace('<br>', '<br/>')}</div>")
    assert len(list(tree.iter("table"))) == 2
    shown = "".join(tree.itertext())
    for line in CHANGES.splitlines():
        assert line in shown


def test_a_short_repr() -> None:
    shown = "Comparison(old → new, wer 0.2857 → 0.2857, 3 of 4 sentences changed: 1 better, 1 worse)"
    assert repr(comparison()) == shown


@given(st.integers(0, 50), st.lists(st.integers(-4, 4), min_size=6, max_size=6))
@settings(max_examples=25, deadline=None)
def test_an_unchanged_text_is_never_listed(seed: int, weights: list[int]) -> None:
    old, new = (dict(zip(OLD, part, strict=True)) for part in (weights[:3], weights[3:]))
    lists = random_lists(seed, sentences=5)
    found = compare(lists, old, new, metric="wer")
    assert all(change.old.text != change.new.text for change in found.changes)
    assert np.isclose(sum(change.gain or 0.0 for change in found.changes), found.gain or 0.0, atol=1e-12)
    assert compare(lists, old, old, metric="wer").changes == ()


@pytest.mark.parametrize(
    ("wrong", "message"), [({"none": 1.0}, "none"), ("no such file", "no such file"), ([1.0], "weights")]
)
def test_wrong_weights_are_told(wrong: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        compare(random_lists(1), OLD, wrong, metric="wer")


# Two texts with the words that differ marked.

texts = st.lists(st.sampled_from(["a", "b", "c", "dd", "eee"]), max_size=12).map(" ".join)


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("the cap sat", "the cat sat", ("the [-cap-] sat", "the {+cat+} sat")),
        ("a b c", "a c", ("a [-b-] c", "a c")),
        ("a c", "a b b c", ("a c", "a {+b b+} c")),
        ("same words", "same words", ("same words", "same words")),
        ("", "new words", ("", "{+new words+}")),
        ("old", "", ("[-old-]", "")),
        ("彼は猫だ", "彼は犬だ", ("彼は[-猫-]だ", "彼は{+犬+}だ")),
    ],
)
def test_differences_have_signs(old: str, new: str, shown: tuple[str, str]) -> None:
    before, after = marked(old, new)
    assert (str(before), str(after)) == shown


@given(texts, texts)
def test_without_their_marks_texts_are_as_they_were(old: str, new: str) -> None:
    before, after = marked(old, new)
    for text, found, signs in ((old, before, r"\[-|-\]"), (new, after, r"\{\+|\+\}")):
        assert re.sub(signs, "", str(found)) == text
    kept = [
        re.sub(pattern, "", str(found)).split() for pattern, found in ((r"\[-.*?-\]", before), (r"\{\+.*?\+\}", after))
    ]
    if " " in old + new:  # by words; a single word is compared by characters
        assert kept[0] == kept[1]


@given(texts, texts, st.integers(8, 30))
def test_lines_fit_and_colours_change_no_sign(old: str, new: str, width: int) -> None:
    for found in marked(old, new):
        lines = found.lines(width)
        assert all(len(line) <= width for line in lines)
        assert found.space.join(lines) == str(found)
        coloured = found.lines(width, colour=True)
        assert [re.sub("\x1b\\[[0-9]*m", "", line) for line in coloured] == lines
        assert any("\x1b[" in line for line in coloured) == any(kind != "same" for kind, _ in found.pieces)


def test_wide_characters_take_two_columns() -> None:
    assert columns("ab猫") == 4
    assert columns("e\u0301") == 1
    assert marked("彼は猫だ", "彼は犬だ")[0].lines(10) == ["彼は[-猫-]", "だ"]


def test_plain_texts_are_wrapped() -> None:
    assert wrapped("aa bb cc dd", 5) == ["aa bb", "cc dd"]
    assert wrapped("abcdef", 4) == ["abcd", "ef"]
    assert wrapped("", 4) == [""]
