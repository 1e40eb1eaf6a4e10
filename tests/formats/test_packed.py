"""Packed files: what is packed is what is opened, and damage is noticed."""

from __future__ import annotations

import io
import json
import math
import os
import struct
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hulltune import Dataset, ForestBuilder, InputError, read
from hulltune.data.lists import lists_of_texts
from hulltune.data.packed import Packed, write_packed
from hulltune.formats import open_packed, pack, sniff, verify_packed
from hulltune.formats.packed import VERSION
from hulltune.formats.streams import Content
from tests.formats.refusals import refusal

JSON = """\
{"id": "u", "refs": ["r", "é"], "source": "s", "candidates": [{"text": "é", "features": {"x": 1, "y": 2}, "score": 1}]}
{"id": "v", "candidates": []}
{"id": "w", "refs": [], "candidates": [{"text": "", "features": {"x": 0.1, "y": -3}, "score": 2}, {"text": "b"}]}
"""
HEADER = struct.Struct("<9sIQI")


def make(tmp_path: Path, **options: Any) -> Dataset:
    (tmp_path / "j").write_text(JSON, encoding="utf-8")
    return read(tmp_path / "j", on_error="skip", **options)


def assert_same(one: Dataset, other: Dataset) -> None:
    for name in ("node_offsets", "edge_offsets", "tail_offsets", "tails", "label_offsets", "labels", "edge_ids"):
        np.testing.assert_array_equal(getattr(one.corpus, name), getattr(other.corpus, name), err_msg=name)
    assert one.corpus.vocabulary.tokens == other.corpus.vocabulary.tokens
    np.testing.assert_array_equal(one.first_choices, other.first_choices)
    assert one.is_lists
    assert other.is_lists
    for a, b in (
        (one.corpus.features.matrix(), other.corpus.features.matrix()),
        (one.scores, other.scores),
        (one.copies, other.copies),
    ):
        assert (a is None) == (b is None)
        if a is not None:
            assert b is not None
            assert a.dtype == b.dtype
            np.testing.assert_array_equal(a, b)
    for name in ("ids", "feature_names", "references", "sources", "omitted", "skipped", "provenance"):
        assert getattr(one, name) == getattr(other, name), name


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_a_packed_file_gives_the_lists_back(tmp_path: Path, dtype: str) -> None:
    lists = make(tmp_path, dtype=dtype)
    assert len(lists.skipped) == 1
    pack(lists, tmp_path / "p")
    assert_same(open_packed(tmp_path / "p"), lists)
    assert sniff(tmp_path / "p") == "packed"
    again = read(tmp_path / "p", features=["words"])
    assert again.feature_names == ("x", "y", "words")
    assert open_packed(tmp_path / "p").corpus.features.matrix().flags.f_contiguous
    assert open_packed(tmp_path / "p").corpus.edges == 2


def test_numbers_as_ids_and_no_scores(tmp_path: Path) -> None:
    (tmp_path / "n").write_text("5 ||| a ||| x=1\n")
    lists = read(tmp_path / "n")
    pack(lists, tmp_path / "p")
    assert open_packed(tmp_path / "p").ids == range(6)
    assert_same(open_packed(tmp_path / "p"), lists)


def test_writing_to_the_arrays_leaves_the_file_alone(tmp_path: Path) -> None:
    pack(make(tmp_path), tmp_path / "p")
    before = (tmp_path / "p").read_bytes()
    open_packed(tmp_path / "p").corpus.features.matrix()[0, 0] = 7
    assert (tmp_path / "p").read_bytes() == before


def test_damage_is_noticed(tmp_path: Path) -> None:
    pack(make(tmp_path), tmp_path / "p")
    whole = (tmp_path / "p").read_bytes()

    def message(data: bytes) -> str:
        (tmp_path / "d").write_bytes(data)
        return str(refusal(lambda: open_packed(tmp_path / "d")))

    assert "not a packed file" in message(b"")
    assert "not a packed file" in message(b"something else, but long enough to hold a header")
    assert "cut off" in message(whole[:40])
    assert "cut off" in message(whole[:-1])
    assert "cut off" in message(whole + b"\0")
    assert f"version {VERSION + 1}" in message(whole[:9] + bytes([VERSION + 1]) + whole[10:])
    assert "damaged" in message(whole[:60] + bytes([whole[60] ^ 1]) + whole[61:])
    with pytest.raises(InputError, match="no such file"):
        open_packed(tmp_path / "none")


@settings(max_examples=400, deadline=None)
@given(st.data())
def test_a_flipped_byte_is_noticed(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Any byte, the padding between arrays too."""
    folder = tmp_path_factory.getbasetemp()
    lists = make(folder)
    pack(lists, folder / "p")
    whole = bytearray((folder / "p").read_bytes())
    whole[data.draw(st.integers(0, len(whole) - 1))] ^= data.draw(st.integers(1, 255))
    (folder / "d").write_bytes(whole)
    message = refusal(lambda: assert_same(open_packed(folder / "d"), lists))
    assert message is not None
    assert str(folder / "d") in message
    assert message == refusal(lambda: verify_packed(folder / "d"))


def lattices(*, sparse: bool) -> Dataset:
    """Two lattices; features are dense or sparse."""
    forests = []
    for number in range(2):
        builder = ForestBuilder(sparse=sparse)
        builder.add_edge(0, output=[])
        for k, word in enumerate(("a", "é", "c")):
            builder.add_edge(1 + k // 2, [k // 2], features={f"f{k}": k + number + 0.5}, output=[0, word])
        forests.append(builder.build(root=2))
    return read(forests).matched((("a c",), ("é",)))


@pytest.mark.parametrize("kind", ["lists", "lattices", "sparse lattices"])
def test_every_byte_counts(tmp_path: Path, kind: str) -> None:
    """Of every byte of a file a bit is changed, and every byte is set to 0 and to 255: no change goes unnoticed."""
    dataset = make(tmp_path) if kind == "lists" else lattices(sparse=kind.startswith("sparse"))
    stream = io.BytesIO()
    write_packed(dataset, stream)
    whole = stream.getvalue()
    Packed(Content("p", whole), "p").verify()
    for place, byte in enumerate(whole):
        for other in {byte ^ 1 << place % 8, 0, 255} - {byte}:
            changed = whole[:place] + bytes([other]) + whole[place + 1 :]
            with pytest.raises(InputError, match=r"^p: "):
                Packed(Content("p", changed), "p").verify()


def test_features_and_texts_are_checked_when_they_are_used(tmp_path: Path) -> None:
    pack(make(tmp_path), tmp_path / "p")
    uses: list[tuple[bytes, Callable[[Dataset], object], str]] = [
        (np.float64(-3.0).tobytes(), lambda lists: lists.corpus.features.values, "values"),
        ("é".encode(), lambda lists: lists.texts(), "token_bytes"),
    ]
    for value, use, name in uses:
        whole = bytearray((tmp_path / "p").read_bytes())
        whole[whole.rindex(value)] ^= 1
        (tmp_path / "d").write_bytes(whole)
        lists = open_packed(tmp_path / "d")
        assert (len(lists), lists.corpus.features.shape, lists.corpus.features.dtype.str) == (3, (2, 2), "<f8")
        message = f"d: a damaged packed file .the checksum of its {name} does not match"
        with pytest.raises(InputError, match=message):
            use(lists)
        with pytest.raises(InputError, match=message):
            verify_packed(tmp_path / "d")


WHILE_OPEN = """
import pathlib, sys
import numpy as np
from hulltune import InputError
from hulltune.data.lists import lists_of_texts
from hulltune.formats import open_packed, pack

path, change = pathlib.Path(sys.argv[1]), sys.argv[2]
rows = 50_000
lists = lists_of_texts(
    range(rows), np.arange(rows + 1), [f"text {k}" for k in range(rows)], np.ones((rows, 10), order="F"),
    tuple(f"f{k}" for k in range(10)),
)
pack(lists, path)
opened, used = open_packed(path), open_packed(path)
assert used.corpus.features.values.sum() == 10 * rows and used.texts()[-1] == f"text {rows - 1}"
whole = path.read_bytes()
if change == "cut":
    with open(path, "r+b") as file:
        file.truncate(5000)
elif change == "written anew":
    with open(path, "r+b") as file:
        file.write(whole.replace(np.float64(1).tobytes(), np.float64(2).tobytes()).replace(b"text", b"TEXT"))
else:
    pack(lists_of_texts(range(1), np.arange(2), ["x"], np.zeros((1, 1)), ("f0",)), path)
print(used.corpus.features.values.sum(), used.texts()[7])
for use in (lambda: opened.corpus.features.values.sum(), lambda: opened.texts()[7]):
    try:
        print(use())
    except InputError as error:
        print(str(error).replace(str(path), "FILE"))
"""


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ("cut", ["FILE: the file was cut off while it was in use; pack it again"] * 2),
        (
            "written anew",
            [
                "FILE: a damaged packed file (the checksum of its values does not match); pack it again",
                "FILE: a damaged packed file (the checksum of its token_bytes does not match); pack it again",
            ],
        ),
        ("replaced", ["500000.0", "text 7"]),
    ],
)
def test_a_file_that_changes_while_it_is_open(tmp_path: Path, change: str, told: list[str]) -> None:
    """What was used stays; what was not ends in a message. A mapped file would end the process, or change silently."""
    command = [sys.executable, "-c", WHILE_OPEN, str(tmp_path / "p"), change]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    found = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert found.returncode == 0, (found.returncode, found.stderr)
    assert found.stdout.splitlines() == ["500000.0 text 7", *told]


def test_a_packed_file_is_closed_with_its_dataset(tmp_path: Path) -> None:
    """A process may have only so many files open."""
    pack(make(tmp_path), tmp_path / "p")
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0
    for _ in range(20):
        assert len(open_packed(tmp_path / "p")) == 3
    assert (len(os.listdir("/proc/self/fd")) if before else 0) == before


def crafted(whole: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """A packed file with another description, whose checksum and length are right."""
    _, version, length, _ = HEADER.unpack(whole[: HEADER.size])
    description = json.loads(whole[HEADER.size : HEADER.size + length])
    text = change(description)
    described = text if isinstance(text, bytes) else json.dumps(description).encode()
    start, new_start = (-(-(HEADER.size + size) // 64) * 64 for size in (length, len(described)))
    header = HEADER.pack(whole[:9], version, len(described), zlib.crc32(described))
    return (header + described).ljust(new_start, b"\0") + whole[start:]


def set_to(*path: str, to: Any) -> Callable[[dict[str, Any]], None]:
    def change(description: dict[str, Any]) -> None:
        *way, last = path
        for name in way:
            description = description[name]
        description[last] = to

    return change


def without(*path: str) -> Callable[[dict[str, Any]], None]:
    def change(description: dict[str, Any]) -> None:
        *way, last = path
        for name in way:
            description = description[name]
        del description[last]

    return change


CRAFTED: dict[str, Callable[[dict[str, Any]], object]] = {
    "no object": lambda _: b"[]",
    "no JSON": lambda _: b"{",
    "no UTF-8": lambda _: b'{"kind": "\xff"}',
    "deep JSON": lambda _: b'{"kind": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    **{f"no {name}": without(name) for name in (
        "arrays", "bytes", "kind", "feature_names", "ids", "ids_by", "model", "members", "references", "sources",
        "omitted", "unnamed", "skipped", "provenance")},
    "no array": without("arrays", "labels"),
    "another array": lambda described: described["arrays"].update(x=described["arrays"]["labels"]),
    **{f"no {name} of an array": without("arrays", "values", name) for name in (
        "dtype", "shape", "at", "crc")},
    "names that are numbers": set_to("feature_names", to=[1, 2]),
    "one name": set_to("feature_names", to=["x"]),
    "names that are a text": set_to("feature_names", to="xy"),
    "arrays that are a list": set_to("arrays", to=[1]),
    "an array that is a number": set_to("arrays", "values", to=1),
    "3-D features": set_to("arrays", "values", "shape", to=[1, 2, 2]),
    "1-D features": set_to("arrays", "values", "shape", to=[4]),
    "whole features": set_to("arrays", "values", "dtype", to="<i8"),
    "features of objects": set_to("arrays", "values", "dtype", to="|O"),
    "a dtype that is a list": set_to("arrays", "values", "dtype", to=["<f8"]),
    "2-D offsets": set_to("arrays", "edge_offsets", "shape", to=[2, 2]),
    "float offsets": set_to("arrays", "edge_offsets", "dtype", to="<f8"),
    "a negative length": set_to("arrays", "values", "shape", to=[-1, 2]),
    "a length that is true": set_to("arrays", "scores", "shape", to=[True]),
    "a huge length": set_to("arrays", "values", "shape", to=[1 << 61, 2]),
    "a length beyond all": set_to("arrays", "values", "shape", to=[10**30, 2]),
    "a fractional length": set_to("arrays", "values", "shape", to=[1.5, 2]),
    "misaligned features": set_to("arrays", "values", "at", to=4),
    "a place before the file": set_to("arrays", "values", "at", to=-64),
    "a place after the file": set_to("arrays", "values", "at", to=1 << 40),
    "no checksum": set_to("arrays", "values", "crc", to=[]),
    "a checksum that is a text": set_to("arrays", "values", "crc", to=["x"]),
    "arrays that overlap": lambda described: described["arrays"]["scores"].update(
        at=described["arrays"]["values"]["at"], crc=described["arrays"]["values"]["crc"]),
    "bytes that are a text": set_to("bytes", to="x"),
    "ids that are true": set_to("ids", to=True),
    "too many ids": set_to("ids", to=10**30),
    "other ids": set_to("ids", to=[1, None, 2]),
    "the same id twice": set_to("ids", to=["u", "u", "v"]),
    "falling ids": set_to("ids", to=[3, 2, 1]),
    "ids by something": set_to("ids_by", to="x"),
    "a model of texts": set_to("model", to={"x": "y"}),
    "a model beyond all": set_to("model", to={"x": math.inf}),
    "references of one": set_to("references", to=[["r"]]),
    "references that are numbers": set_to("references", to=[[1], [], []]),
    "sources that are numbers": set_to("sources", to=[1, None, None]),
    "skipped that is none": set_to("skipped", to=[["file", "line", "reason"]]),
    "provenance that is none": set_to("provenance", to=[["file"]]),
    "omitted that is none": set_to("omitted", to={"x": None}),
    "unnamed that is none": set_to("unnamed", to=["x"]),
    "forests without members": set_to("kind", to="forests"),
}  # fmt: skip


@pytest.mark.parametrize("name", list(CRAFTED))
def test_a_crafted_description_is_refused_in_one_line(tmp_path: Path, name: str) -> None:
    pack(make(tmp_path), tmp_path / "p")
    (tmp_path / "d").write_bytes(crafted((tmp_path / "p").read_bytes(), CRAFTED[name]))
    for use in (open_packed, read, verify_packed):
        with pytest.raises(InputError, match=r"d: .*(pack it again|damaged)") as caught:
            use(tmp_path / "d")
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 200 + len(str(tmp_path))


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("array", ["values", "scores"])
def test_numbers_that_are_not_finite_are_refused(tmp_path: Path, array: str, value: float) -> None:
    """Nobody writes such a file, but somebody may craft one: its checksums are right."""
    pack(make(tmp_path), tmp_path / "p")
    whole = (tmp_path / "p").read_bytes()
    length = HEADER.unpack(whole[: HEADER.size])[2]
    entry = json.loads(whole[HEADER.size : HEADER.size + length])["arrays"][array]
    at = -(-(HEADER.size + length) // 64) * 64 + entry["at"]
    numbers = np.frombuffer(whole, dtype=entry["dtype"], count=math.prod(entry["shape"]), offset=at).copy()
    numbers[-1] = value
    whole = whole[:at] + numbers.tobytes() + whole[at + numbers.nbytes :]
    change = set_to("arrays", array, "crc", to=[zlib.crc32(numbers.tobytes())])
    (tmp_path / "d").write_bytes(crafted(whole, change))
    with pytest.raises(InputError, match=f"a number of its {array} is not finite"):
        verify_packed(tmp_path / "d")


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lists = make(tmp_path)
    pack(lists, tmp_path / "p")
    before = (tmp_path / "p").read_bytes()

    def fail(descriptor: int) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(OSError, match="disk full"):
        pack(lists, tmp_path / "p")
    assert (tmp_path / "p").read_bytes() == before
    assert sorted(entry.name for entry in tmp_path.iterdir()) == ["j", "p"]
    with pytest.raises(InputError, match="cannot be written"):
        pack(lists, tmp_path / "no such folder" / "p")


def test_packed_files_are_read_alone(tmp_path: Path) -> None:
    pack(make(tmp_path), tmp_path / "p")
    with pytest.raises(InputError, match="read alone"):
        read([tmp_path / "p", tmp_path / "j"])
    with pytest.raises(InputError, match="original lists"):
        read(tmp_path / "p", add=[(tmp_path / "j", "s")])
    with pytest.raises(InputError, match="pack it again as float32"):
        read(tmp_path / "p", dtype="float32")


def test_a_million_hypotheses_open_in_no_time(tmp_path: Path) -> None:
    rows, size = 1_000_000, 100
    lists = lists_of_texts(
        range(rows // size),
        np.arange(0, rows + 1, size, dtype=np.int64),
        [f"{number:06d}" for number in range(rows)],
        np.zeros((rows, 14), order="F"),
        tuple(f"f{k}" for k in range(14)),
        scores=np.zeros(rows),
        references=(("a reference of some length",),) * (rows // size),
    )
    pack(lists, tmp_path / "p")
    times = []
    for _ in range(5):
        start = time.process_time()
        assert open_packed(tmp_path / "p").corpus.edges == rows
        times.append(time.process_time() - start)
    assert min(times) < 0.1
