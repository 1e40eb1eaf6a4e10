"""The contract of all readers: what must hold of a file whatever its format. The formats are rows of samples.py."""

from __future__ import annotations

import bz2
import gzip
import lzma
import random
import re
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hulltune import Dataset, InputError, read, write
from hulltune.errors import OptionError
from hulltune.formats import FORMATS, sniff
from hulltune.names import FOREST_FORMATS, WRITERS
from tests.formats.refusals import refusal
from tests.formats.samples import LISTS, SAMPLES, Sample
from tests.soak.inputs import digest
from tests.soak.mutations import mutated

ZSTD = "compression.zstd" if sys.version_info >= (3, 14) else "zstandard"
PACKERS: dict[str, Callable[[], Callable[[bytes], bytes]]] = {
    "gz": lambda: gzip.compress,
    "bz2": lambda: bz2.compress,
    "xz": lambda: lzma.compress,
    "zst": lambda: pytest.importorskip(ZSTD).compress,
}
NOT_FINITE = ["nan", "inf", "-inf", "1e999"]

pytestmark = pytest.mark.filterwarnings("ignore::hulltune.errors.Note")


def each_sample(samples: Iterable[Sample]) -> pytest.MarkDecorator:
    """Run a check for each of these samples."""
    return pytest.mark.parametrize("sample", [pytest.param(sample, id=str(sample)) for sample in samples])


every_format = each_sample(SAMPLES)
every_text = each_sample(sample for sample in SAMPLES if sample.is_text)
every_list = each_sample(LISTS)


def outcome(path: Path, **options: Any) -> str:
    """All that is read from a file, or the message that refuses it."""
    found: list[str] = []

    def take() -> None:
        data = read(path, **options)
        assert np.all(np.isfinite(data.corpus.features.values))
        found.append(digest(data))

    said = refusal(take)
    assert said is None or (str(path) in said and "\n" not in said), said
    return said or found[0]


def texts_and_features(data: Dataset) -> list[tuple[Any, ...]]:
    """The edges of each sentence by their texts and features."""
    rows = data.corpus.features.matrix()
    names = data.feature_names
    found = []
    for sentence, name in enumerate(data.ids):
        edges = range(*data.corpus.sentence_edges[sentence : sentence + 2].tolist())
        found.append((str(name), sorted((data.text(edge), *zip(names, rows[edge], strict=True)) for edge in edges)))
    return found


def test_every_format_of_text_has_a_sample() -> None:
    without = {"packed", "parquet", "score-folder"}  # no single text files: their own tests say more
    assert {sample.format for sample in SAMPLES} >= set(FORMATS) - without


@every_format
def test_a_file_is_recognised_by_its_content(sample: Sample, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    assert sniff(path) == sample.format
    found = read(path)
    assert digest(found) == digest(read(path, format=sample.format))
    assert {each.format for each in found.provenance} == {sample.format}
    assert found.corpus.edges > 0


@every_text
def test_line_ends_and_byte_order_marks_change_nothing(sample: Sample, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    plain = outcome(path)
    for data in (
        sample.data.replace(b"\n", b"\r\n"),
        b"\xef\xbb\xbf" + sample.data,
        sample.data.removesuffix(b"\n"),
    ):
        sample.write(tmp_path, data)
        assert outcome(path) == plain


@every_format
@pytest.mark.parametrize("kind", PACKERS)
def test_compressed_files_are_unpacked_or_refused(sample: Sample, kind: str, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    plain, pack = outcome(path), PACKERS[kind]()
    packed = pack(sample.data)
    sample.write(tmp_path, packed)
    assert outcome(path) == plain
    half = len(sample.data) // 2  # several members, as gzip -c a b writes them
    sample.write(tmp_path, pack(sample.data[:half]) + pack(sample.data[half:]))
    assert outcome(path) == plain
    sample.write(tmp_path, packed[:-3])
    with pytest.raises(InputError, match=re.escape(f"{path}: the compressed file is cut off or damaged")):
        read(path)


@pytest.mark.parametrize(
    ("content", "kind"),
    [
        ("0 1 a 0.5\n1 0.5\n", "openfst-text"),
        ("0\t1\tin\tout\n1\n", "openfst-text"),
        ("0 1 5 0.5,-20.25,1_2_3\n1 0.25,-1,4_4\n", "kaldi"),
        ("5 7\n0\n1\na b ||| x=1\n", "forest"),
        ("# made by hand\nN=3 L=3\n", "slf"),
        ("()\n", "plf"),
        ("( ( (u'a', 1, 1), ), )", "plf"),
        ("((", "plf"),
        ("1 0\n0\n", "forest"),
        ("0 ||| VERSION=1.0 ||| x=1\n", "moses"),
        ('{"id": 1, "candidates": []}', "jsonl"),
        ('{"sentence_id": 0, "translation": "x"}', "sockeye"),
        ('{"audio_filepath": "x", "text": "|||"}', "nemo"),
        ("some words\t-1.5\n", "nemo"),
        ('"id","text",lm\n', "csv"),
        ("NBestList1.0\n", "srilm"),
        ("utt1\n-1200.5 -20.25 3 it is cold\n", None),
        ("title\n0 1 a 0.5\nnot an arc\n", None),
        ("a title\n0 1 a 0.5\n1\n", None),
        ("u1 12:30\nu2 12:31\n", None),
        ("John wrote 3:16\nMark wrote 1:2\n", None),
        ("(a) text\n", None),
    ],
)
def test_what_files_look_like(content: str, kind: str | None, tmp_path: Path) -> None:
    (tmp_path / "file").write_text(content)
    if kind is None:
        with pytest.raises(InputError, match="cannot tell the format"):
            sniff(tmp_path / "file")
    else:
        assert sniff(tmp_path / "file") == kind


@every_format
def test_a_file_that_is_cut_off_is_answered_or_refused(sample: Sample, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    told = len(sample.data)  # the length from which on nobody can tell that something is missing
    if sample.is_text:
        told = sample.data.rindex(sample.last.encode()) if sample.last else 0
    for end in range(len(sample.data)):
        sample.write(tmp_path, sample.data[:end])
        outcome(path)
        found = outcome(path, format=sample.format)
        assert end <= len(sample.alone) or end >= told or found.startswith(str(path)), (end, found)


@every_format
def test_a_damaged_file_is_answered_or_refused_in_little_time(sample: Sample, tmp_path: Path) -> None:
    dice = random.Random(7)
    path = sample.write(tmp_path)
    others = [other.data for other in SAMPLES if other.format == sample.format]
    options: dict[str, Any] = {} if sample.is_of_forests else {"on_error": "skip"}
    answers = {outcome(path, format=sample.format)}  # kernels are compiled before the clock runs
    start = time.thread_time()
    for _ in range(250):
        sample.write(tmp_path, mutated(sample.data, others, dice))
        outcome(path)
        answers |= {outcome(path, format=sample.format), outcome(path, format=sample.format, **options)}
    assert time.thread_time() - start < 60
    refused = sum(answer.startswith(str(path)) for answer in answers)
    assert 0 < refused < len(answers)


@every_format
def test_an_empty_file_is_refused(sample: Sample, tmp_path: Path) -> None:
    for data in (b"", b"\n \n", b"\xef\xbb\xbf"):
        path = sample.write(tmp_path, data)
        for form in (None,) if sample.blank_is_a_list else (None, sample.format):
            with pytest.raises(InputError, match=re.escape(str(path))):
                read(path, format=form)


@every_text
def test_a_byte_that_is_not_utf8_is_a_fault_of_its_line(sample: Sample, tmp_path: Path) -> None:
    path = sample.write(tmp_path, sample.changed(sample.word, "\x01").replace(b"\x01", b"\xff"))
    line = sample.line_of(sample.word)
    with pytest.raises(InputError, match=re.escape(f"{path}:{line}: not UTF-8 (byte 0xff)")):
        read(path)
    if not sample.is_of_forests:
        assert line in [each.line for each in read(path, on_error="skip").skipped]


@every_text
@pytest.mark.parametrize("value", [*NOT_FINITE, "x", "1_0", "٣"])
def test_a_value_that_is_no_finite_number_is_a_fault_of_its_line(sample: Sample, value: str, tmp_path: Path) -> None:
    path = sample.write(tmp_path, sample.changed(sample.number, re.sub("^-[0-9.]+", value, sample.number)))
    said = refusal(lambda: read(path, format=sample.format))
    assert said is not None
    assert said.startswith(f"{path}:{sample.line_of(sample.number)}: "), said


@each_sample(sample for sample in SAMPLES if sample.may_be_empty and sample.is_text)
def test_an_empty_output_is_an_output(sample: Sample, tmp_path: Path) -> None:
    whole = read(sample.write(tmp_path))
    found = read(sample.write(tmp_path, sample.changed(sample.word, "")))
    assert found.corpus.edges == whole.corpus.edges


@pytest.mark.parametrize(
    ("sample", "number"),
    [pytest.param(sample, k, id=f"{sample} {k}") for sample in SAMPLES for k in range(len(sample.broken))],
)
def test_a_fault_is_told_with_its_line(sample: Sample, number: int, tmp_path: Path) -> None:
    broken = sample.broken[number]
    path = sample.write(tmp_path, sample.changed(broken.old, broken.new))
    with pytest.raises(InputError) as caught:
        read(path, format=sample.format)
    line = sample.line_of(broken.old)
    assert re.match(f"{re.escape(str(path))}:{line}: .*({broken.reason})", str(caught.value)), str(caught.value)
    if sample.is_of_forests:
        return
    lists = read(path, format=sample.format, on_error="skip")
    assert [each.line for each in lists.skipped] == [line]
    assert str(lists.skipped[0]) == str(caught.value)
    assert lists.corpus.edges > 0


@every_list
def test_equal_hypotheses_are_counted_once(sample: Sample, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    once, twice = read(path), read([path, path])
    assert texts_and_features(twice) == texts_and_features(once)
    assert (once.duplicates, twice.duplicates) == (0, once.corpus.edges)


@every_format
def test_options_of_other_data_are_refused(sample: Sample, tmp_path: Path) -> None:
    path = sample.write(tmp_path)
    others: list[dict[str, Any]] = (
        [{"on_error": "skip"}, {"add": [(path, "x")]}, {"id_column": "x"}, {"features": ["rank"]}]
        if sample.is_of_forests
        else [{"negate": True}, {"drop": ["x"]}, {"symbols": path}, {"ids": "name"}]
    )
    if sample.format == "trec":  # scores of runs may be distances
        others[0] = {"add": [(path, "x")]}
    for options in others:
        with pytest.raises(OptionError, match=f"^{next(iter(options))}: "):
            read(path, **options)


@pytest.mark.parametrize(
    ("sample", "kind"),
    [
        pytest.param(sample, kind, id=f"{sample} to {kind}")
        for sample in SAMPLES
        for kind in WRITERS
        if kind == "packed" or (kind in FOREST_FORMATS) == sample.is_of_forests
    ],
)
def test_what_is_written_reads_back(sample: Sample, kind: str, tmp_path: Path) -> None:
    data = read(sample.write(tmp_path))
    target = tmp_path / "written"
    if kind in ("slf", "openfst-text") and len(data) > 1:  # one lattice a file
        target.mkdir()
    write(data, target, kind)
    again = read(target)
    assert len(again) == len(data)
    if kind == "packed":
        np.testing.assert_array_equal(again.corpus.features.matrix(), data.corpus.features.matrix())
    if kind in ("packed", "jsonl"):
        assert (again.ids, again.feature_names) == (data.ids, data.feature_names)
        assert (again.references, again.sources) == (data.references, data.sources)
    if data.is_lists:
        assert texts_and_features(again) == texts_and_features(data)
