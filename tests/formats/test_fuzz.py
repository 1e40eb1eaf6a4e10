"""Whatever the bytes, a reader gives lists or an InputError, in bounded time, and skipping leaves only good rows."""

from __future__ import annotations

import itertools
import json
import shutil
import time
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

json_values = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(-5, 10**30), st.floats(), st.text(max_size=4), st.sampled_from(["0", "u"])
    ),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(st.text(max_size=3), inner, max_size=3)),
    max_leaves=6,
)
numbers = st.one_of(st.integers(-9, 9), st.floats(-1e9, 1e9))


def either(good: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Mostly what belongs there, now and then anything."""
    return st.one_of(good, good, good, json_values)


def record(**fields: st.SearchStrategy[Any]) -> st.SearchStrategy[str]:
    some = st.fixed_dictionaries({}, optional={name: either(value) for name, value in fields.items()})
    whole = st.fixed_dictionaries({name: either(value) for name, value in fields.items()})
    return st.one_of(whole, some).map(json.dumps)


features = st.dictionaries(st.sampled_from("xy"), either(numbers), max_size=2)
candidates = st.lists(
    either(st.fixed_dictionaries({"text": st.text(max_size=3), "features": features, "score": numbers})), max_size=3
)
words = st.text("ab é\t,\"'|=:1.-", max_size=12)
odd_cells = st.lists(st.one_of(numbers.map(str), words), min_size=2, max_size=5)
cells = st.one_of(
    st.tuples(st.sampled_from(["0", "7", "u"]), st.text("ab é'|", max_size=5), numbers.map(str), numbers.map(str)),
    odd_cells,
)
LINES: dict[str, st.SearchStrategy[str]] = {
    "moses": words.map("0 ||| a ||| {} ||| 1".format),
    "jsonl": st.one_of(
        record(id=st.integers(0, 3), refs=st.lists(st.text(max_size=3)), source=st.text(), candidates=candidates),
        record(
            id=st.integers(0, 3), text=st.text(max_size=3), x=numbers, y=st.booleans(), ref=st.text(), score=numbers
        ),
    ),
    "sockeye": record(
        sentence_id=st.integers(0, 3),
        translations=st.lists(st.text(max_size=3), max_size=2),
        scores=st.lists(st.one_of(numbers, st.lists(numbers, max_size=2)), max_size=2),
    ),
    "nemo": st.one_of(
        record(audio_filepath=st.text(), text=st.text(), beams=st.lists(st.tuples(st.text(max_size=3), numbers))),
        st.builds("{}\t{}".format, words, numbers),
    ),
    "csv": cells.map(",".join),
    "tsv": cells.map("\t".join),
    "fairseq": st.builds("{}-{}\t{}\t{}".format, st.sampled_from("STHDPA"), st.integers(0, 3), numbers, words),
    "srilm": st.builds("{} {} {} {}".format, numbers, numbers, numbers, words),
}
HEADERS = {"csv": "id,text,lm,score", "tsv": "id\ttext\tlm\tref"}


def read_and_check(path: Path, **options: Any) -> Dataset:
    lists = read(path, **options)
    assert np.all(np.isfinite(lists.corpus.features.matrix()))
    assert all_texts(lists) == [lists.text(row) for row in range(lists.corpus.edges)]
    assert lists.corpus.edges == lists.corpus.edges
    return lists


@pytest.mark.parametrize("name", LINES)
def test_text_formats(tmp_path_factory: pytest.TempPathFactory, name: str) -> None:
    path = tmp_path_factory.mktemp("fuzz") / "width1.txt"
    outcomes = {"read": 0, "refused": 0}
    path.write_text("0 ||| a ||| x=1 ||| 1\n", encoding="utf-8")
    read_and_check(path)  # kernels are compiled before the clock runs

    @settings(max_examples=250)
    @given(
        st.lists(st.one_of(LINES[name], LINES[name], LINES[name], st.text(max_size=10)), max_size=5),
        st.binary(max_size=3),
        st.booleans(),
    )
    def run(lines: list[str], tail: bytes, headed: bool) -> None:
        if headed and name in HEADERS:
            lines = [HEADERS[name], *lines]
        path.write_bytes("\n".join(lines).encode("utf-8", errors="surrogatepass") + tail)
        start = time.thread_time()  # other processes may be busy
        for options in ({}, {"format": name}, {"format": name, "on_error": "skip"}, {"format": name, "missing": 0}):
            message = refusal(partial(read_and_check, path, **options))
            outcomes["read" if message is None else "refused"] += 1
            assert message is None or (message and "\n" not in message)
        assert time.thread_time() - start < 5

    run()
    assert min(outcomes.values()) > 20


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
