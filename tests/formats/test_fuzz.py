"""Whatever is in folders of scores, references and added scores, they are read or refused in one line.

Damaged files of all formats are in test_contract.py.
"""

from __future__ import annotations

import itertools
import shutil
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Dataset, read
from hulltune.formats import read_references
from tests.formats.refusals import refusal
from tests.lists import all_texts

numbers = st.one_of(st.integers(-9, 9), st.floats(-1e9, 1e9))
words = st.text("ab é\t,\"'|=:1.-", max_size=12)


def read_and_check(path: Path, **options: Any) -> Dataset:
    lists = read(path, **options)
    assert np.all(np.isfinite(lists.corpus.features.matrix()))
    assert all_texts(lists) == [lists.text(row) for row in range(lists.corpus.edges)]
    return lists


@settings(max_examples=150)
@given(
    st.dictionaries(
        st.sampled_from(["text", "ids", "am", "lm.txt", "1best_recog/text", "1best_recog/score", "2best_recog/text"]),
        st.one_of(
            st.binary(max_size=20),
            st.lists(st.one_of(words, st.builds("{} {}".format, st.sampled_from("uv"), numbers)), max_size=3).map(
                lambda lines: "\n".join(lines).encode()
            ),
            st.sampled_from([b"{'s': [(1, 'a')]}", b"{'s': [(1, 'a'), (nan, 'b')]}", b"{", b"1\n2", b"u\tx\nv\ty"]),
        ),
        max_size=4,
    )
)
def test_folders(tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]) -> None:
    folder = tmp_path_factory.getbasetemp() / "folder"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for name, content in files.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(content)
    formats = (None, "score-folder", "srilm")
    for form, on_error in itertools.product(formats, ("raise", "skip")):
        message = refusal(partial(read_and_check, folder, format=form, on_error=on_error))
        assert message is None or (message and "\n" not in message)


@given(st.binary(max_size=60), st.binary(max_size=60))
def test_references_and_added_scores(tmp_path_factory: pytest.TempPathFactory, one: bytes, two: bytes) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "one").write_bytes(one)
    (folder / "two").write_bytes(two)
    (folder / "lists").write_text("0 ||| a ||| x=1\n")
    for call in (
        lambda: read_references([folder / "one", folder / "two"]),
        lambda: read(folder / "lists", add=[(folder / "one", "s")]),
    ):
        message = refusal(call)
        assert message is None or str(folder) in message


utterances = st.sampled_from(["u1", "u2", "s-u1", "u3", "(u", "7"])
reference_lines = st.one_of(
    st.builds("{} ({})".format, words, utterances),
    st.builds("{} {}".format, utterances, words),
    st.builds("{} 1 s {} {} <o> {}".format, utterances, st.floats(0, 9), st.floats(0, 9), words),
    st.builds("{} 1 s 0.5 1 {{ {} / @ }} ({})".format, utterances, words, words),
)


@settings(max_examples=300)
@given(st.lists(reference_lines, max_size=4), st.lists(utterances, min_size=1, max_size=3), st.binary(max_size=3))
@pytest.mark.filterwarnings("ignore::hulltune.errors.Note")
def test_references_by_id(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str], names: list[str], tail: bytes
) -> None:
    folder = tmp_path_factory.getbasetemp()
    (folder / "refs").write_bytes("\n".join(lines).encode() + tail)
    lists = read([{"id": name, "candidates": [{"text": "a", "features": {"f": 1}}]} for name in dict.fromkeys(names)])
    message = refusal(lambda: read(lists, folder / "refs"))
    assert message is None or (message and "\n" not in message)
    if message is None:
        matched = read(lists, folder / "refs")
        assert matched.references is not None
        assert all(len(texts) == 1 for texts in matched.references)
