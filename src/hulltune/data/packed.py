"""The packed file: a dataset as it lies in memory, with a checksum of every part of it.

Layout: magic, version (u32), length of the description (u64), its CRC-32 (u32), the description in JSON, and then the
arrays, each at a multiple of 64 bytes from the start. All numbers are little-endian. The description has for every
array its type, shape, place, and the CRC-32 of each BLOCK of its bytes; bytes between arrays are 0. Features and texts
are as large as all other arrays together: they are read when they are first used, the others when the file is opened.

Nothing is mapped: what is used was read into memory of its own and checked there, so whatever happens to the file
afterwards (truncated, written anew, on a disk that is gone) changes nothing, and before that it ends in a message.
"""

from __future__ import annotations

import json
import math
import struct
import sys
import threading
import zlib
from collections.abc import Callable
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset, Member, Provenance, Skipped
from hulltune.data.features import DenseFeatures, Features, SparseFeatures
from hulltune.data.forest import Pruned
from hulltune.data.lists import places_in_lists
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.names import IDS

MAGIC = b"HULLTUNE\x00"
VERSION = 3
BLOCK = 1 << 20
LISTS, FORESTS = "lists", "forests"
_HEADER = struct.Struct("<9sIQI")
_ALIGNMENT = 64
_LAZY = ("values", "token_bytes")
_ARRAYS = {
    "node_offsets": ("<i8", 1), "edge_offsets": ("<i8", 1), "tail_offsets": ("<i8", 1), "tails": ("<i4", 1),
    "label_offsets": ("<i8", 1), "labels": ("<i4", 1), "edge_ids": ("<i8", 1), "pruned": ("<i8", 2),
    "first_choices": ("<i8", 1), "scores": ("<f8", 1), "copies": ("<i4", 1), "token_bytes": ("|u1", 1),
    "token_offsets": ("<i8", 1), "value_offsets": ("<i8", 1), "value_columns": ("<i4", 1), "values": ("", 0),
    "qualities": ("<f8", 2),
}  # fmt: skip
"""The type and the number of dimensions of each array. Values are "<f8" or "<f4": a matrix, or a row if sparse."""
_OPTIONAL = {
    "node_offsets", "tail_offsets", "tails", "label_offsets", "edge_ids", "pruned", "scores", "copies",
    "value_offsets", "value_columns", "qualities",
}  # fmt: skip


def packed_kind(head: bytes) -> str | None:
    """The kind of the packed file that begins with these bytes (lists or forests), or None for other files."""
    if not head.startswith(MAGIC):
        return None
    return LISTS if head[_HEADER.size :].startswith(b'{"kind": "lists"') else FORESTS


class Content(Protocol):
    """The bytes of a file, to be read in any order."""

    size: int

    def read_into(self, start: int, memory: memoryview) -> None:
        """Fill the memory with the bytes from ``start`` on; InputError if they cannot be had."""


class Packed:
    """A packed file. ``dataset`` refuses all that is damaged or crafted, so kernels need no checks."""

    def __init__(self, content: Content, name: str) -> None:
        """Check the description; ``name`` is for messages."""
        self.name = name
        size = content.size
        header = _read(content, 0, min(size, _HEADER.size))
        if size < _HEADER.size or not header.startswith(MAGIC):
            raise InputError(f"{name}: not a packed file; expected one written by hulltune convert")
        _, version, length, checksum = _HEADER.unpack(header)
        if version != VERSION:
            raise InputError(f"{name}: packed file of version {version}; this release reads {VERSION}: pack it again")
        start = _start_of_arrays(length)
        if size < start:
            raise InputError(f"{name}: the packed file is cut off ({size} bytes); pack it again")
        text = _read(content, _HEADER.size, length)
        if zlib.crc32(text) != checksum:
            raise InputError(f"{name}: the description of the packed file is damaged; pack it again")
        try:
            self._described = _Fields(json.loads(text), "the description")
            end = start + self._described.whole("bytes")
            if size != end:
                raise InputError(f"{name}: {size} bytes, expected {end}; the file is cut off or damaged")
            entries = self._described.fields("arrays")
            memory = _Memory(content, start, name)
            self._parts = {array: _Part(memory, entries.fields(array), array) for array in entries.names()}
            _check_padding(content, [(0, _HEADER.size + length), *(part.place for part in self._parts.values())])
            if not self._parts.keys() <= _ARRAYS.keys() or not _ARRAYS.keys() - _OPTIONAL <= self._parts.keys():
                raise _DamageError("arrays are missing, or unknown")
        except (_DamageError, ValueError, RecursionError) as error:
            if isinstance(error, InputError):
                raise
            reason = "nested too deeply" if isinstance(error, RecursionError) else error
            raise _fault(name, str(reason)) from None

    def verify(self) -> None:
        """Compare every byte with its checksum, and the arrays with each other."""
        for part in self._parts.values():
            part.check()
        self.dataset()

    def dataset(self) -> Dataset:
        """The dataset, over the memory of the file. O(edges): features and texts are not looked at yet."""
        for name, part in self._parts.items():
            if name not in _LAZY:
                part.check()
        try:
            return self._dataset({name: part.array for name, part in self._parts.items()})
        except _DamageError as damaged:
            raise _fault(self.name, str(damaged)) from None

    def _dataset(self, arrays: dict[str, NDArray[Any]]) -> Dataset:
        described = self._described
        names = described.texts("feature_names")
        features = self._features(arrays, len(names))
        is_lists = described.text("kind") == LISTS
        corpus = self._corpus(arrays, features, names)
        count = len(corpus)
        if len(arrays["first_choices"]) != count:
            raise _DamageError("first choices that do not fit")
        sizes = np.maximum(np.diff(corpus.sentence_edges), 1)
        if np.any(arrays["first_choices"] < -1) or np.any(arrays["first_choices"] >= sizes):
            raise _DamageError("first choices that do not fit")
        for name in ("scores", "copies"):
            if name in arrays and len(arrays[name]) != corpus.edges:
                raise _DamageError(f"{name} that do not fit")
        ids_by = described.text("ids_by")
        if ids_by not in IDS:
            raise _DamageError(f"ids by {ids_by!r}")
        is_flat = corpus.nodes == count and not len(corpus.tails) and np.diff(corpus.label_offsets).max(initial=0) <= 1
        if is_lists and (not is_flat or described["members"] is not None):
            raise _DamageError("forests instead of lists")
        return Dataset(
            ids=_ids(described, count),
            corpus=corpus,
            first_choices=arrays["first_choices"],
            references=described.per_sentence("references", count, _texts),
            sources=described.per_sentence("sources", count, _text_or_none),
            scores=arrays.get("scores"),
            copies=arrays.get("copies"),
            model=None if described["model"] is None else described.fields("model").numbers(),
            members=None if is_lists else described.per_sentence("members", count, _members, needed=True),
            ids_by=ids_by,
            omitted={name: int(number) for name, number in described.fields("omitted").numbers().items()},
            unnamed=tuple(_whole(number, "unnamed") for number in described.items("unnamed")),
            skipped=tuple(_record(Skipped, each, (str, int, str)) for each in described.items("skipped")),
            provenance=tuple(_record(Provenance, each, (str, str)) for each in described.items("provenance")),
            qualities=_qualities(described, arrays.get("qualities"), corpus.edges),
        )

    def _features(self, arrays: dict[str, NDArray[Any]], width: int) -> Features:
        values, check = arrays["values"], self._parts["values"].check
        if "value_offsets" not in arrays:
            if values.ndim != 2 or values.shape[1] != width:
                raise _DamageError("features that do not fit")
            return _CheckedDense(values, check)
        offsets, columns = arrays["value_offsets"], arrays.get("value_columns", values[:0])
        _check_offsets(offsets, len(values))
        if columns.shape != values.shape or values.ndim != 1:
            raise _DamageError("features that do not fit")
        if len(columns) and not 0 <= columns.min() <= columns.max() < width:
            raise _DamageError("features that do not fit")
        return _CheckedSparse(offsets, columns, values, width, check)

    def _corpus(self, arrays: dict[str, NDArray[Any]], features: Features, names: tuple[str, ...]) -> Corpus:
        edges, tokens = features.shape[0], arrays["token_bytes"]
        edge_offsets, labels = arrays["edge_offsets"], arrays["labels"]
        _check_offsets(edge_offsets, edges)
        _check_offsets(arrays["token_offsets"], len(tokens))
        nodes = len(edge_offsets) - 1
        node_offsets = arrays.get("node_offsets", np.arange(nodes + 1, dtype=np.int64))
        _check_offsets(node_offsets, nodes)
        if np.any(np.diff(node_offsets) < 1):
            raise _DamageError("a sentence without nodes")
        tails = arrays.get("tails", np.zeros(0, dtype=np.int32))
        tail_offsets = arrays.get("tail_offsets", np.zeros(edges + 1, dtype=np.int64))
        _check_offsets(tail_offsets, len(tails))
        label_offsets = arrays.get("label_offsets", np.arange(edges + 1, dtype=np.int64))
        _check_offsets(label_offsets, len(labels))
        if not len(tail_offsets) == len(label_offsets) == edges + 1:
            raise _DamageError("arrays of different lengths")
        edge_ids = arrays.get("edge_ids")
        if edge_ids is None:
            edge_ids = places_in_lists(edge_offsets[node_offsets])
        pruned = arrays.get("pruned")
        if len(edge_ids) != edges or (pruned is not None and pruned.shape != (len(node_offsets) - 1, 2)):
            raise _DamageError("arrays of different lengths")
        corpus = Corpus(
            node_offsets=node_offsets,
            edge_offsets=edge_offsets,
            tail_offsets=tail_offsets,
            tails=tails,
            features=features,
            feature_names=names,
            label_offsets=label_offsets,
            labels=labels,
            vocabulary=Vocabulary.packed(tokens, arrays["token_offsets"], check=self._parts["token_bytes"].check_some),
            edge_ids=edge_ids,
            pruned=(Pruned(),) * (len(node_offsets) - 1)
            if pruned is None
            else tuple(Pruned(*each) for each in pruned.tolist()),
        )
        _check_graph(corpus)
        return corpus


def _check_graph(corpus: Corpus) -> None:
    """Refuse graphs that break the invariants of Forest and Corpus, on which kernels rely."""
    if corpus.nodes > len(corpus):
        inner = np.ones(corpus.nodes, dtype=np.bool_)
        inner[corpus.node_offsets[1:] - 1] = False
        if np.any(np.diff(corpus.edge_offsets)[inner] == 0):
            raise _DamageError("a node without edges")
    if len(corpus.tails):
        # In 32 bits, and once for all edges of a node: these are the longest arrays.
        first_nodes = np.repeat(corpus.node_offsets[:-1], np.diff(corpus.node_offsets))
        places = (np.arange(corpus.nodes) - first_nodes).astype(np.int32)
        heads = np.repeat(places, np.diff(corpus.tail_offsets[corpus.edge_offsets]))
        if corpus.tails.min() < 0 or np.any(corpus.tails >= heads):
            raise _DamageError("a tail that does not come before its head")
    lowest = int(corpus.labels.min(initial=0))
    if lowest < 0:
        arities = np.diff(corpus.tail_offsets).astype(np.int32)
        if np.any(corpus.labels < -np.repeat(arities, np.diff(corpus.label_offsets))):
            raise _DamageError("a label that stands for nothing")
    if corpus.labels.max(initial=-1) >= len(corpus.vocabulary):
        raise _DamageError("a label that stands for nothing")


def _fault(file: str, reason: str) -> InputError:
    return InputError(f"{file}: a damaged packed file ({reason}); pack it again")


class _DamageError(Exception):
    """A fault of a packed file, in a few words."""


def _check_padding(content: Content, places: list[tuple[int, int]]) -> None:
    """Refuse arrays that overlap, and bytes of no array that are not 0 or too many: every damage is noticed."""
    end = 0
    for first, last in [*sorted(places), (content.size, content.size)]:
        if not 0 <= first - end < _ALIGNMENT:
            raise _DamageError("arrays that do not lie side by side")
        if any(_read(content, end, first - end)):
            raise _DamageError("bytes between arrays that are not 0")
        end = last


class _Memory:
    """Room for all arrays of a packed file, which takes up memory only where it is filled.

    One piece, since memory in pieces of at least some megabytes is had in large pages, at a third of the time.
    """

    def __init__(self, content: Content, start: int, file: str) -> None:
        self.content, self.start, self.file = content, start, file
        try:
            room = np.empty(max(0, content.size - start) + _ALIGNMENT, dtype=np.uint8)
        except MemoryError:
            raise _DamageError(f"{content.size / 1e9:.1f} GB, more than there is memory") from None
        first = -room.ctypes.data % _ALIGNMENT
        self.bytes = room[first : first + content.size - start]

    def fill(self, first: int, last: int) -> memoryview:
        """Read a range of the arrays' bytes from the file."""
        memory = self.bytes[first:last].data
        self.content.read_into(self.start + first, memory)
        return memory


class _Part:
    """An array of a packed file and the checksums of its blocks. Blocks are read and checked when they are needed."""

    def __init__(self, memory: _Memory, entry: _Fields, name: str) -> None:
        self._memory, self._name = memory, name
        dtype, dimensions = _ARRAYS.get(name, ("", 0))
        stored, shape, at = entry.text("dtype"), entry.items("shape"), entry.whole("at")
        lengths = tuple(_whole(length, f"the shape of {name}") for length in shape)
        if stored not in ((dtype,) if dtype else ("<f8", "<f4")) or len(lengths) not in (
            (dimensions,) if dimensions else (1, 2)
        ):
            raise _DamageError(f"{name} is {stored[:20]!r} with {len(lengths)} dimensions")
        size = math.prod(lengths) * np.dtype(stored).itemsize
        if at % _ALIGNMENT or at + size > len(memory.bytes):
            raise _DamageError(f"{name} lies outside the file, or at no multiple of {_ALIGNMENT} bytes")
        self._at, self._end = at, at + size
        self.place = (memory.start + at, memory.start + at + size)
        self.array: NDArray[Any] = memory.bytes[at : at + size].view(stored).reshape(lengths, order="F")
        self._crc = [_whole(crc, f"a checksum of {name}") for crc in entry.items("crc")]
        if len(self._crc) != -(-size // BLOCK):
            raise _DamageError(f"{len(self._crc)} checksums of {name}")
        self._checked = np.zeros(len(self._crc), dtype=np.bool_)
        self._lock = threading.Lock()

    def check(self) -> None:
        """Read all blocks and compare them with their checksums, each once."""
        self._check_blocks(np.flatnonzero(~self._checked))

    def check_some(self, starts: Int64s, ends: Int64s) -> None:
        """Read and check the blocks that some ranges of bytes touch; most ranges lie in one block."""
        if self._checked.all():
            return
        touched = np.zeros(len(self._checked) + 1, dtype=np.int64)
        filled = ends > starts
        np.add.at(touched, starts[filled] // BLOCK, 1)
        np.add.at(touched, (ends[filled] - 1) // BLOCK + 1, -1)
        self._check_blocks(np.flatnonzero((np.cumsum(touched)[:-1] > 0) & ~self._checked))

    def _check_blocks(self, blocks: Int64s) -> None:
        for block in blocks.tolist():
            with self._lock:  # what one thread has checked, another must not read again: the file may have changed
                if self._checked[block]:
                    continue
                first = self._at + block * BLOCK
                if zlib.crc32(self._memory.fill(first, min(first + BLOCK, self._end))) != self._crc[block]:
                    raise _fault(self._memory.file, f"the checksum of its {self._name} does not match")
                if self.array.dtype.kind == "f":
                    numbers = self._memory.bytes[first : min(first + BLOCK, self._end)].view(self.array.dtype)
                    if not np.isfinite(numbers).all():
                        raise _fault(self._memory.file, f"a number of its {self._name} is not finite")
                self._checked[block] = True


class _Checked:
    """Values whose checksums are compared before they are first used."""

    _values: NDArray[Any]
    _check: Callable[[], None]

    @property
    def values(self) -> NDArray[Any]:
        """The values, checked."""
        self._check()
        return self._values

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the values."""
        return self._values.dtype


class _CheckedDense(_Checked, DenseFeatures):  # a property in place of a field
    """Dense features with checked values."""

    def __init__(self, values: NDArray[Any], check: Callable[[], None]) -> None:
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_check", check)

    @property
    def shape(self) -> tuple[int, int]:
        """Edges and features."""
        return self._values.shape[0], self._values.shape[1]

    def __reduce__(self) -> Any:
        return DenseFeatures, (self.values,)


class _CheckedSparse(_Checked, SparseFeatures):  # a property in place of a field
    """Sparse features with checked values."""

    def __init__(
        self, offsets: Int64s, columns: Int32s, values: NDArray[Any], width: int, check: Callable[[], None]
    ) -> None:
        for name, value in (("offsets", offsets), ("columns", columns), ("width", width)):
            object.__setattr__(self, name, value)
        object.__setattr__(self, "_values", values)
        object.__setattr__(self, "_check", check)

    def __reduce__(self) -> Any:
        return SparseFeatures, (self.offsets, self.columns, self.values, self.width)


class _Fields:
    """A JSON object; a field that is missing or has another type than asked for is damage."""

    def __init__(self, value: Any, what: str) -> None:
        if not isinstance(value, dict):
            raise _DamageError(f"{what} is no object")
        self._value, self._what = value, what

    def __getitem__(self, name: str) -> Any:
        if name not in self._value:
            raise _DamageError(f"{self._what} has no {name!r}")
        return self._value[name]

    def names(self) -> list[str]:
        return list(self._value)

    def fields(self, name: str) -> _Fields:
        return _Fields(self[name], name)

    def items(self, name: str) -> list[Any]:
        if not isinstance(self[name], list):
            raise _DamageError(f"{name} is no list")
        return list(self[name])

    def whole(self, name: str) -> int:
        return _whole(self[name], name)

    def text(self, name: str) -> str:
        if not isinstance(self[name], str):
            raise _DamageError(f"{name} is no text")
        return str(self[name])

    def texts(self, name: str) -> tuple[str, ...]:
        return _texts(self[name], name)

    def numbers(self) -> dict[str, float]:
        for name, value in self._value.items():
            if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < math.inf:
                raise _DamageError(f"{name!r} of {self._what} is no finite number")
        return {name: float(value) for name, value in self._value.items()}

    def per_sentence(
        self, name: str, count: int, read: Callable[[Any, str], Any], *, needed: bool = False
    ) -> tuple[Any, ...] | None:
        if self[name] is None and not needed:
            return None
        values = self.items(name)
        if len(values) != count:
            raise _DamageError(f"{len(values)} {name} of {count} sentences")
        return tuple(read(value, name) for value in values)


def _check_offsets(offsets: NDArray[Any], end: int) -> None:
    """Refuse offsets that do not go from 0 to ``end`` without falling."""
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != end or np.any(offsets[1:] < offsets[:-1]):
        raise _DamageError("offsets that do not fit")


def _whole(value: Any, what: str) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 1 << 62:
        raise _DamageError(f"{what} is no whole number")
    return value


def _texts(value: Any, what: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(text, str) for text in value):
        raise _DamageError(f"{what} are no texts")
    return tuple(value)


def _text_or_none(value: Any, what: str) -> str | None:
    if value is not None and not isinstance(value, str):
        raise _DamageError(f"{what} are no texts")
    return value


def _members(value: Any, what: str) -> tuple[Member, ...]:
    if not isinstance(value, list):
        raise _DamageError(f"{what} are no lists")
    return tuple(_record(Member, each, (str, (str, type(None)), bool)) for each in value)


def _record(made: Callable[..., Any], value: Any, types: tuple[Any, ...]) -> Any:
    if (
        not isinstance(value, list)
        or len(value) != len(types)
        or not all(isinstance(part, kind) for part, kind in zip(value, types, strict=True))
    ):
        raise _DamageError(f"{str(value)[:40]} is no {getattr(made, '__name__', 'record').lower()}")
    return made(*value)


def _qualities(described: _Fields, table: NDArray[Any] | None, edges: int) -> dict[str, Floats]:
    """The numbers of hypotheses that are no features, by name. Files of earlier releases have none."""
    names = described.texts("qualities") if "qualities" in described.names() else ()
    if (() if table is None else table.shape) != ((edges, len(names)) if names else ()) or len(set(names)) < len(names):
        raise _DamageError("qualities that do not fit")
    return {} if table is None else dict(zip(names, table.T, strict=True))


def _ids(described: _Fields, count: int) -> Any:
    ids = described["ids"]
    if isinstance(ids, list):
        named = all(isinstance(name, str) for name in ids)
        if not named and not all(isinstance(name, int) and not isinstance(name, bool) and name >= 0 for name in ids):
            raise _DamageError("ids that are neither names nor numbers")
        if len(ids) != count or len(set(ids)) != count or (not named and sorted(ids) != ids):
            raise _DamageError("ids that do not fit")
        return tuple(ids)
    if _whole(ids, "ids") != count:
        raise _DamageError("ids that do not fit")
    return range(count)


# Bytes and checksums.


def _read(content: Content, start: int, size: int) -> bytes:
    memory = bytearray(size)
    content.read_into(start, memoryview(memory))
    return bytes(memory)


def _bytes(values: NDArray[Any]) -> memoryview:
    return values.data.cast("B") if values.size else memoryview(b"")


def _checksums(data: memoryview) -> list[int]:
    return [zlib.crc32(data[start : start + BLOCK]) for start in range(0, len(data), BLOCK)]


def _start_of_arrays(description: int) -> int:
    return -(-(_HEADER.size + description) // _ALIGNMENT) * _ALIGNMENT


# Writing.


def write_packed(dataset: Dataset, file: IO[bytes]) -> None:
    """Write a dataset to a stream; linear in its size."""
    if sys.byteorder != "little":  # pragma: no cover  # such machines are rare, and no tests run on one
        raise InputError("packed files are little-endian, and this machine is not")
    # Fortran order: the transpose of a matrix is the contiguous one.
    memories = {name: np.ascontiguousarray(values.T) for name, values in _arrays_of(dataset).items()}
    described: dict[str, Any] = {}
    position = 0
    for name, values in memories.items():
        described[name] = {
            "dtype": values.dtype.str, "shape": list(values.T.shape), "at": position, "crc": _checksums(_bytes(values)),
        }  # fmt: skip
        position += -(-values.nbytes // _ALIGNMENT) * _ALIGNMENT
    kind = LISTS if dataset.is_lists else FORESTS
    text = json.dumps({"kind": kind, "arrays": described, "bytes": position, **_description(dataset)}).encode("ascii")
    file.write(_HEADER.pack(MAGIC, VERSION, len(text), zlib.crc32(text)))
    file.write(text)
    file.write(bytes(_start_of_arrays(len(text)) - _HEADER.size - len(text)))
    for values in memories.values():
        file.write(_bytes(values))
        file.write(bytes(-values.nbytes % _ALIGNMENT))


def _arrays_of(dataset: Dataset) -> dict[str, NDArray[Any]]:
    """The arrays to store, without those that can be computed from others."""
    corpus, features = dataset.corpus, dataset.corpus.features
    token_bytes, token_offsets = corpus.vocabulary.as_packed()
    arrays: dict[str, NDArray[Any]] = {
        "edge_offsets": corpus.edge_offsets, "labels": corpus.labels, "first_choices": dataset.first_choices,
        "token_bytes": token_bytes, "token_offsets": token_offsets, "values": features.values,
    }  # fmt: skip
    if np.any(np.diff(corpus.node_offsets) != 1):
        arrays["node_offsets"] = corpus.node_offsets
    if len(corpus.tails):
        arrays |= {"tail_offsets": corpus.tail_offsets, "tails": corpus.tails}
    if np.any(np.diff(corpus.label_offsets) != 1):
        arrays["label_offsets"] = corpus.label_offsets
    if not np.array_equal(corpus.edge_ids, places_in_lists(corpus.sentence_edges)):
        arrays["edge_ids"] = corpus.edge_ids
    if any(each != Pruned() for each in set(corpus.pruned)):
        arrays["pruned"] = np.array([(each.nodes, each.edges) for each in corpus.pruned], dtype=np.int64)
    if dataset.scores is not None:
        arrays["scores"] = dataset.scores
    if dataset.copies is not None:
        arrays["copies"] = dataset.copies
    if _complete(dataset):
        arrays["qualities"] = np.stack(list(_complete(dataset).values()), axis=1)
    if isinstance(features, SparseFeatures):
        arrays |= {"value_offsets": features.offsets, "value_columns": features.columns}
    return arrays


def _complete(dataset: Dataset) -> dict[str, Floats]:
    """The qualities that all hypotheses have: others cannot be used anyway."""
    return {name: values for name, values in dataset.qualities.items() if np.all(np.isfinite(values))}


def _description(dataset: Dataset) -> dict[str, Any]:
    members = dataset.members
    return {
        "feature_names": list(dataset.feature_names),
        "ids": len(dataset.ids) if isinstance(dataset.ids, range) else list(dataset.ids),
        "ids_by": dataset.ids_by,
        "model": None if dataset.model is None else dict(dataset.model),
        "members": None if members is None else [[[m.file, m.name, m.is_list] for m in each] for each in members],
        "references": dataset.references,
        "sources": dataset.sources,
        "omitted": dict(dataset.omitted),
        "unnamed": list(dataset.unnamed),
        **({"qualities": list(_complete(dataset))} if _complete(dataset) else {}),
        "skipped": [[fault.file, fault.line, fault.reason] for fault in dataset.skipped],
        "provenance": [[origin.file, origin.format] for origin in dataset.provenance],
    }
