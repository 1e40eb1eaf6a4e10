"""Binary FSTs of OpenFst and Kaldi, read without either: header, symbol tables, states and arcs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Int64s
from hulltune.data.features import DenseFeatures, Features
from hulltune.errors import InputError
from hulltune.formats.forest_building import tuple_features
from hulltune.formats.numbers import shown
from hulltune.formats.symbols import parse_binary_symbols

if TYPE_CHECKING:
    from hulltune.kernels.reading.fst_binary import States

MAGIC = b"\xd6\xfd\xb2\x7e"
_OTHER_ORDER = MAGIC[::-1]
_HAS_INPUT_SYMBOLS, _HAS_OUTPUT_SYMBOLS, _IS_ALIGNED = 1, 2, 4
_ALIGNMENT = 16


class CutOff(Exception):  # noqa: N818  # not an error as long as more bytes may come
    """The bytes end within the FST."""


@dataclass(frozen=True)
class Layout:
    """The storage of the weights of an arc type (count, bytes each, style), and the names of their features."""

    floats: int
    width: int
    style: int
    names: tuple[str, ...]


_PLAIN, _STRING, _TUPLE = 0, 1, 2
SINGLE, PAIR, KALDI = ("score",), ("score_0", "score_1"), ("graph", "acoustic")
_LAYOUTS = {
    "standard": Layout(1, 4, _PLAIN, SINGLE),
    "log": Layout(1, 4, _PLAIN, SINGLE),
    "log64": Layout(1, 8, _PLAIN, SINGLE),
    "lattice4": Layout(2, 4, _PLAIN, KALDI),
    "lattice8": Layout(2, 8, _PLAIN, KALDI),
    "compactlattice44": Layout(2, 4, _STRING, KALDI),
    "compactlattice84": Layout(2, 8, _STRING, KALDI),
    "tropicalsparsetuple": Layout(1, 4, _TUPLE, ()),
}
_PAIRS = re.compile(r"(tropical|log)_(?:LT|X)_(tropical|log)")  # lexicographic pairs, and products


def arc_types() -> tuple[str, ...]:
    """The types of arcs that are read; one type of lexicographic pairs stands for all pairs."""
    return (*_LAYOUTS, "tropical_LT_tropical")


@dataclass(frozen=True)
class Header:
    """The header of an FST; ``end`` is the byte after it."""

    fst_type: str
    arc_type: str
    version: int
    flags: int
    start: int
    states: int
    arcs: int
    end: int


@dataclass(frozen=True, eq=False)
class BinaryFst:
    """An FST as arrays; the features have a row for the start, each arc and each final state."""

    header: Header
    states: int
    sources: Int64s
    targets: Int64s
    labels: Int64s
    """Output labels."""
    finals: Int64s
    features: Features
    feature_names: tuple[str, ...]
    symbols: Mapping[int, str] | None
    """The table of output labels in the file, if there is one."""
    end: int


def parse_header(data: bytes, position: int, where: str, *, base: int = 0) -> Header:
    """The header at ``position`` of ``data``, which begins at byte ``base`` of the file."""
    magic = data[position : position + 4]
    if magic == _OTHER_ORDER:
        raise InputError(f"{where}: the FST was written on a big-endian machine, which is not supported")
    if magic != MAGIC:
        if len(magic) < 4 and MAGIC.startswith(magic):
            raise CutOff
        raise InputError(f"{where}: byte {base + position}: expected an FST (magic number d6fdb27e), got {magic.hex()}")
    texts = []
    position += 4
    for _ in range(2):
        length = _integer(data, position, 4)
        if not 0 < length <= 1024:
            raise InputError(f"{where}: byte {base + position}: a type name of {length} bytes; the header is damaged")
        if position + 4 + length > len(data):
            raise CutOff
        texts.append(data[position + 4 : position + 4 + length].decode("ascii", errors="replace"))
        position += 4 + length
    places = ((0, 4), (4, 4), (16, 8), (24, 8), (32, 8))  # properties, at 8, are of no use here
    version, flags, start, states, arcs = (_integer(data, position + place, size) for place, size in places)
    return Header(texts[0], texts[1], version, flags, start, states, arcs, position + 40)


def _integer(data: bytes, position: int, size: int) -> int:
    if position + size > len(data):
        raise CutOff
    return int.from_bytes(data[position : position + size], "little", signed=True)


def parse_fst(data: bytes, position: int, where: str, *, base: int = 0) -> BinaryFst:
    """The FST at ``position`` of ``data``, which begins at byte ``base`` of the file; CutOff if it ends within the FST.

    Linear in the bytes of the FST, whatever its counts say.
    """
    header = parse_header(data, position, where, base=base)
    layout = _layout(header, where)
    end, symbols = header.end, None
    for flag in (_HAS_INPUT_SYMBOLS, _HAS_OUTPUT_SYMBOLS):
        if header.flags & flag:
            try:
                symbols, end = parse_binary_symbols(data, end, where, base=base)
            except IndexError:
                raise CutOff from None
            symbols = symbols if flag == _HAS_OUTPUT_SYMBOLS else None
    if header.version not in (1, 2):
        raise InputError(f"{where}: version {header.version} of the format; expected 1 or 2")
    if header.states < -1:
        raise InputError(f"{where}: the header says {header.states} states; it is damaged")
    read = _vector if header.fst_type == "vector" else _const
    states, end = read(data, end, header, layout, where, base)
    features, names, finals = _checked_features(header, layout, states, where)
    return BinaryFst(
        header, len(states.final_weights), states.sources, states.targets, states.labels, finals, features, names,
        symbols, end,
    )  # fmt: skip


def _layout(header: Header, where: str) -> Layout:
    if header.fst_type not in ("vector", "const"):
        got = f"an FST of type {shown(header.fst_type)}"
        raise InputError(f"{where}: {got}; expected 'vector' or 'const' (convert it with fstconvert --fst_type=vector)")
    layout = Layout(2, 4, _PLAIN, PAIR) if _PAIRS.fullmatch(header.arc_type) else _LAYOUTS.get(header.arc_type)
    if layout is None:
        known = ", ".join(arc_types())
        raise InputError(f"{where}: unknown arc type {shown(header.arc_type)}; expected one of {known}")
    if header.fst_type == "const" and (layout.style != _PLAIN or layout.width != 4):
        raise InputError(
            f"{where}: a const FST of arc type {header.arc_type}; expected a vector FST (fstconvert --fst_type=vector)"
        )
    return layout


def _vector(data: bytes, position: int, header: Header, layout: Layout, where: str, base: int) -> tuple[States, int]:
    """The states of a vector FST, and the byte after them."""
    from hulltune.kernels.reading import fst_binary as kernel

    content = np.frombuffer(data, dtype=np.uint8)
    code, end, states, arcs, pairs = kernel.measure(
        content, position, len(data), header.states, layout.floats * layout.width, layout.style
    )
    if code == kernel.CUT_OFF:
        raise CutOff
    if code == kernel.BAD_COUNT:
        raise InputError(f"{where}: byte {base + end}: a negative count in state {states}; the file is damaged")
    out = kernel.States(
        sources=np.empty(arcs, dtype=np.int64),
        targets=np.empty(arcs, dtype=np.int64),
        labels=np.empty(arcs, dtype=np.int64),
        arc_weights=np.empty((arcs, layout.floats), dtype=np.uint64),
        final_weights=np.empty((states, layout.floats), dtype=np.uint64),
        pair_rows=np.empty(pairs, dtype=np.int64),
        pair_keys=np.empty(pairs, dtype=np.int64),
        pair_values=np.empty(pairs, dtype=np.uint64),
    )
    kernel.read_states(content, position, layout.width, layout.style, out)
    decoded = out._replace(
        arc_weights=_floats(out.arc_weights, layout.width),
        final_weights=_floats(out.final_weights, layout.width),
        pair_values=_floats(out.pair_values, 4),
    )
    return decoded, int(end)


def _floats(bits: NDArray[np.uint64], width: int) -> NDArray[Any]:
    return bits.astype(np.uint32).view(np.float32) if width == 4 else bits.view(np.float64)


def _const(data: bytes, position: int, header: Header, layout: Layout, where: str, base: int) -> tuple[States, int]:
    """The states of a const FST, and the byte after them: an array of states and an array of arcs, each at a
    multiple of 16 bytes if aligned.
    """
    from hulltune.kernels.reading import fst_binary as kernel

    aligned = header.flags & _IS_ALIGNED or header.version == 1
    state = np.dtype(
        [("weight", "<f4", (layout.floats,)), ("place", "<u4"), ("arcs", "<u4"), ("epsilons", "<u4", (2,))]
    )
    arc = np.dtype([("input", "<i4"), ("label", "<i4"), ("weight", "<f4", (layout.floats,)), ("target", "<i4")])
    arrays = []
    for dtype, count in ((state, header.states), (arc, header.arcs)):
        if aligned:
            position += -(position + base) % _ALIGNMENT
        if count < 0:
            raise InputError(f"{where}: the header says {count} states or arcs; it is damaged")
        if position + count * dtype.itemsize > len(data):
            raise CutOff
        arrays.append(np.frombuffer(data, dtype=dtype, count=count, offset=position))
        position += count * dtype.itemsize
    states, arcs = arrays
    counts = states["arcs"].astype(np.int64)
    if counts.sum() != len(arcs) or np.any(states["place"] != np.cumsum(counts) - counts):
        raise InputError(f"{where}: the states do not divide the {len(arcs)} arcs among them; the file is damaged")
    nothing: Any = np.zeros(0, dtype=np.int64)
    found = kernel.States(
        sources=np.repeat(np.arange(len(states)), counts),
        targets=arcs["target"].astype(np.int64),
        labels=arcs["label"].astype(np.int64),
        arc_weights=np.ascontiguousarray(arcs["weight"]),
        final_weights=np.ascontiguousarray(states["weight"]),
        pair_rows=nothing,
        pair_keys=nothing,
        pair_values=nothing,
    )
    return found, position


def _checked_features(
    header: Header, layout: Layout, parts: States, where: str
) -> tuple[Features, tuple[str, ...], Int64s]:
    """The features, their names and the final states; states and labels that cannot be are refused."""
    states = len(parts.final_weights)
    if not 0 <= header.start < states:
        got = "no start state" if header.start == -1 else f"start state {header.start}"
        raise InputError(f"{where}: {got}, of {states} states; expected a start state")
    wrong = np.flatnonzero((parts.targets < 0) | (parts.targets >= states) | (parts.labels < 0))
    if len(wrong):
        source, target, label = (int(column[wrong[0]]) for column in (parts.sources, parts.targets, parts.labels))
        raise InputError(
            f"{where}: an arc from state {source} to {target} with label {label}; expected states from 0 to "
            f"{states - 1}, and labels from 0"
        )
    finals = np.flatnonzero(~np.any(np.isposinf(parts.final_weights), axis=1))
    if not len(finals):
        raise InputError(f"{where}: none of the {states} states is final; expected at least one")
    if layout.style == _TUPLE:
        return *_tuple_features(parts, finals, where), finals
    zero = np.zeros((1, layout.floats), dtype=parts.arc_weights.dtype)
    matrix = np.concatenate([zero, parts.arc_weights, parts.final_weights[finals]])
    return DenseFeatures(np.asfortranarray(matrix)), layout.names, finals


def _tuple_features(parts: States, finals: Int64s, where: str) -> tuple[Features, tuple[str, ...]]:
    """The features f1, f2, … of sparse tuples: a matrix, or sparse rows where feature numbers are large."""
    arcs = len(parts.sources)
    defaults = np.concatenate([parts.arc_weights[:, 0], parts.final_weights[finals, 0]])
    if np.any(defaults != 0):
        row = int(np.flatnonzero(defaults != 0)[0])
        place = f"the arc {row} from state {parts.sources[row]}" if row < arcs else f"final state {finals[row - arcs]}"
        got = f"{place} has {defaults[row]} as the value of features that are left out"
        raise InputError(f"{where}: {got}; expected 0")
    row_of_final = np.full(len(parts.final_weights), -1, dtype=np.int64)
    row_of_final[finals] = np.arange(len(finals)) + arcs + 1
    on_arc = parts.pair_rows >= 0
    rows = np.where(on_arc, parts.pair_rows + 1, row_of_final[np.where(on_arc, 0, -1 - parts.pair_rows)])
    keys, values = parts.pair_keys, parts.pair_values
    if len(keys) and keys.min() < 1:
        raise InputError(f"{where}: feature number {keys.min()} in a sparse tuple; expected numbers from 1")
    return tuple_features(rows, keys, values, arcs + 1 + len(finals))
