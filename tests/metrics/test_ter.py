from __future__ import annotations

import itertools
import sys
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.lib_ter import translation_edit_rate
from sacrebleu.metrics.ter import TER

from hulltune.errors import InputError
from hulltune.metrics.ter import Ter
from tests.metrics.text_cases import corpora, numbers, transposed

options = st.fixed_dictionaries(
    {
        "normalized": st.booleans(),
        "no_punct": st.booleans(),
        "asian_support": st.booleans(),
        "case_sensitive": st.booleans(),
    }
)


def sequential_sum(rows: np.ndarray[Any, np.dtype[np.float64]]) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The sum from left to right, as sacrebleu adds."""
    return np.array(list(itertools.accumulate(rows))[-1])


@given(corpora(), options)
@settings(max_examples=200, deadline=None)
def test_statistics_and_score_are_sacrebleu_s(
    corpus: tuple[list[str], list[list[str]]], chosen: dict[str, Any]
) -> None:
    outputs, references = corpus
    metric, theirs = Ter(**chosen), TER(**chosen)
    expected = theirs._extract_corpus_statistics(outputs, transposed(references))
    found = metric.prepare(references).statistics(numbers(len(outputs)), outputs)
    assert found.tolist() == expected
    assert metric.score(sequential_sum(found)) == theirs.corpus_score(outputs, transposed(references)).score


def edits(output: str, reference: str) -> int:
    return int(Ter().prepare([[reference]]).statistics(numbers(1), [output])[0, 0])


def expected_edits(output: str, reference: str) -> int:
    return translation_edit_rate(output.split(), reference.split())[0]


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_shifts_of_blocks(data: st.DataObject) -> None:
    """A reference cut into blocks that are put together in another order, with a few words changed."""
    words = [str(k) for k in data.draw(st.lists(st.integers(0, 12), min_size=1, max_size=16))]
    cuts = sorted(data.draw(st.sets(st.integers(0, len(words)), max_size=4)))
    blocks = [words[a:b] for a, b in itertools.pairwise([0, *cuts, len(words)])]
    output = [word for block in data.draw(st.permutations(blocks)) for word in block]
    for at in data.draw(st.lists(st.integers(0, max(0, len(output) - 1)), max_size=2)):
        output[at] = "x"
    assert edits(" ".join(output), " ".join(words)) == expected_edits(" ".join(output), " ".join(words))


@pytest.mark.parametrize(
    ("output_length", "reference_length"), [(1, 200), (2, 120), (3, 70), (200, 1), (130, 4), (0, 60), (60, 0)]
)
def test_very_different_lengths_stretch_the_beam(output_length: int, reference_length: int) -> None:
    random = np.random.default_rng(output_length)
    output = " ".join(map(str, random.integers(0, 300, output_length)))
    reference = " ".join(map(str, random.integers(0, 300, reference_length)))
    assert edits(output, reference) == expected_edits(output, reference)


def test_a_block_moved_farther_than_the_beam_and_the_longest_shift() -> None:
    words = [str(k) for k in range(70)]
    for cut in (8, 30, 55):
        output, reference = " ".join(words[cut:] + words[:cut]), " ".join(words)
        assert edits(output, reference) == expected_edits(output, reference)


def test_the_limit_on_candidates() -> None:
    """Few distinct words in long lines: more candidate shifts than are looked at."""
    random = np.random.default_rng(1)
    for length in (26, 40):
        output = " ".join(map(str, random.integers(0, 3, length)))
        reference = " ".join(map(str, random.integers(0, 3, length + 3)))
        assert edits(output, reference) == expected_edits(output, reference)


@pytest.mark.parametrize("seed", range(6))
def test_long_lines_beside_sacrebleu(seed: int) -> None:
    """Longer than the beam is wide, with blocks moved near and far, and few or many distinct words."""
    random = np.random.default_rng(seed)
    kinds = int(random.choice([4, 30, 1000]))
    reference = random.integers(0, kinds, int(random.integers(90, 180))).tolist()
    output = list(reference)
    for _ in range(int(random.integers(1, 12))):
        start, length = int(random.integers(0, len(output))), int(random.integers(1, 12))
        block = output[start : start + length]
        del output[start : start + length]
        place = int(random.integers(0, len(output) + 1))
        output[place:place] = block if random.random() < 0.8 else block[::-1]
    texts = [" ".join(map(str, words)) for words in (output, reference)]
    assert edits(*texts) == expected_edits(*texts)


def test_work_is_bounded_on_long_lines() -> None:
    """Only the beam is looked at: 20,000 words take a tenth of a second, and 200,000 do not fill the memory."""
    random = np.random.default_rng(1)
    edits("a", "b")  # compiles
    for length, kinds in ((20_000, 10), (20_000, 5000), (200_000, 1000)):
        reference = random.integers(0, kinds, length)
        output = np.concatenate([reference[length // 3 :], reference[: length // 3]])
        output[::50] = reference[::50]
        texts = [" ".join(map(str, words.tolist())) for words in (output, reference)]
        began = time.thread_time()
        assert 0 < edits(*texts) <= length
        assert time.thread_time() - began < length / 2000


def test_hand_worked_examples() -> None:
    assert edits("a b c", "a b c") == 0
    assert edits("b c a", "a b c") == 1  # one shift
    assert edits("c d x a b", "a b c d") == 2  # one shift, one deletion
    assert edits("A B", "a b") == 0
    assert Ter().score(np.array([[1, 4], [3, 0], [0, 0]])).tolist() == [25.0, 100.0, 0.0]


def test_signature_and_direction() -> None:
    assert Ter().signature.startswith("ter|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:hulltune-")
    chosen = Ter(normalized=True, no_punct=True, asian_support=True, case_sensitive=True)
    assert chosen.signature.startswith("ter|case:mixed|tok:tercom|norm:yes|punct:no|asian:yes|version:hulltune-")
    assert not Ter().higher_is_better
    assert Ter().columns == ("edits", "reference_length")


def test_without_sacrebleu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "sacrebleu.tokenizers.tokenizer_ter", None)
    assert edits("b c a", "a b c") == 1
    with pytest.raises(InputError, match="normalized and no_punct need sacrebleu: pip install sacrebleu"):
        Ter(normalized=True).prepare([["a"]])
