"""Packed files: a dataset as it lies in memory, in an uncompressed zip archive of arrays, as numpy.savez writes it.

The first member, lists.json or forests.json, describes the dataset; each of the others is an array, NAME.npy, so that
numpy.load opens a packed file, too. The archive has the CRC-32 of every member, and reading compares it: a change of
the file ends in a message, or leaves the dataset as it was. Arrays are checked with each other before a kernel sees
them, because somebody may have made a file whose checksums are right.
"""

from __future__ import annotations

import io
import json
import math
import os
import zipfile
from itertools import starmap
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset, Member, Provenance, Skipped
from hulltune.data.features import DenseFeatures, Features, SparseFeatures
from hulltune.data.forest import Pruned
from hulltune.data.lists import places_in_lists
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.streams import Source
from hulltune.formats.writing import written_atomically
from hulltune.names import IDS

VERSION = 4
LISTS, FORESTS = "lists", "forests"
_MAGIC = b"PK\x03\x04"
_NAME_AT = 30
"""The place of the name of the first member in a zip archive."""
_BLOCK = 1 << 20
_ARRAYS = {
    "node_offsets": ("<i8", 1), "edge_offsets": ("<i8", 1), "tail_offsets": ("<i8", 1), "tails": ("<i4", 1),
    "label_offsets": ("<i8", 1), "labels": ("<i4", 1), "edge_ids": ("<i8", 1), "pruned": ("<i8", 2),
    "first_choices": ("<i8", 1), "scores": ("<f8", 1), "copies": ("<i4", 1), "token_bytes": ("|u1", 1),
    "token_offsets": ("<i8", 1), "value_offsets": ("<i8", 1), "value_columns": ("<i4", 1), "values": ("", 0),
    "qualities": ("<f8", 2),
}  # fmt: skip
"""The type and the number of dimensions of each array. Values are "<f8" or "<f4": a matrix, or a row if sparse."""
_NEEDED = {"edge_offsets", "labels", "first_choices", "token_bytes", "token_offsets", "values"}
"""The arrays of every file. The others are left out where they can be computed, or the dataset has none."""
_DESCRIBED = {
    "arrays": [str],
    "feature_names": [str],
    "ids": (int, [(str, int)]),
    "ids_by": str,
    "model": (None, {str: float}),
    "members": (None, [[[str, (str, None), bool]]]),
    "references": (None, [[str]]),
    "sources": (None, [(str, None)]),
    "omitted": {str: int},
    "unnamed": [int],
    "qualities": [str],
    "skipped": [[str, int, str]],
    "provenance": [[str, str]],
}
"""The values in the description: alternatives as a tuple, a list of some kind, or a list with a kind for each place."""


def packed_kind(head: bytes) -> str | None:
    """The kind of the packed file that begins with these bytes (lists or forests), or None for other files."""
    if not head.startswith(_MAGIC):
        return None
    return next((kind for kind in (LISTS, FORESTS) if head[_NAME_AT:].startswith(f"{kind}.json".encode())), None)


def looks_like(head: bytes) -> bool:
    """Whether a file that begins with these bytes is a packed file."""
    return packed_kind(head) is not None


def open_packed(path: str | os.PathLike[str]) -> Dataset:
    """The dataset of a packed file, every byte of which is read and checked. O(size).

    >>> from hulltune.formats import open_packed, pack
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> pack(task.lists, "dev.hull")
    >>> len(open_packed("dev.hull"))
    20
    """
    source = path if isinstance(path, Source) else Source(path)
    with source.opened_at_any_place() as file:
        return read_packed(file, source.name)


def read_packed(file: IO[bytes], name: str) -> Dataset:
    """The dataset of a packed file that is open for reading at any place; ``name`` is for messages."""
    kind = packed_kind(file.read(_NAME_AT + 20))
    if kind is None:
        raise InputError(f"{name}: not a packed file; expected one written by hulltune convert")
    try:
        return _read_archive(file, kind)
    except (MemoryError, InputError):
        raise
    except Exception as error:  # what zipfile, json and NumPy say of damage is of many types
        reason = (str(error).splitlines() or [type(error).__name__])[0][:60]
        raise InputError(f"{name}: the packed file is cut off or damaged ({reason}); pack it again") from None


def pack(dataset: Dataset, path: str | os.PathLike[str]) -> None:
    """Write a dataset as a packed file; it appears complete or not at all.

    >>> from hulltune.formats import open_packed, pack
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> pack(task.lists, "dev.hull")
    >>> open_packed("dev.hull")
    Dataset(lists: 20 sentences, 200 hypotheses, 6 features)
    """
    with written_atomically(path) as file:
        write_packed(dataset, file)


# Reading.


def _read_archive(file: IO[bytes], kind: str) -> Dataset:
    size = file.seek(0, io.SEEK_END)
    with zipfile.ZipFile(file) as archive:
        members = {info.filename: info for info in archive.infolist()}
        if any(info.compress_type != zipfile.ZIP_STORED or info.file_size > size for info in members.values()):
            raise ValueError("an array that is compressed, or larger than the file")
        described = json.loads(archive.read(members.pop(f"{kind}.json")))
        version = described.pop("version", None) if isinstance(described, dict) else None
        if version != VERSION:
            raise ValueError(f"version {str(version)[:20]}; this release reads {VERSION}")
        for name, shape in _DESCRIBED.items():
            _check(_fits(described[name], shape), name)
        names = {name.removesuffix(".npy") for name in members}
        _check(_NEEDED <= names <= _ARRAYS.keys() and names == set(described["arrays"]), "names of arrays")
        arrays = {name: _read_array(archive, members[f"{name}.npy"], name) for name in names}
    return _dataset(kind, described, arrays)


def _check(fits: bool | np.bool_, what: str) -> None:
    """Refuse the file if a part of it does not fit the others."""
    if not fits:
        raise ValueError(f"{what} that do not fit")


def _fits(value: Any, shape: Any) -> bool:
    """Whether a JSON value is of a kind; see _DESCRIBED. Whole numbers are from 0, and all numbers finite."""
    if isinstance(shape, tuple):
        return any(_fits(value, each) for each in shape)
    if isinstance(shape, list):
        if not isinstance(value, list) or len(shape) not in (1, len(value)):
            return False
        return all(starmap(_fits, zip(value, shape if len(shape) > 1 else shape * len(value), strict=True)))
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(_fits(each, shape[str]) for each in value.values())
    if shape is float:
        return type(value) in (int, float) and abs(value) < math.inf
    if shape is int:
        return type(value) is int and 0 <= value < 1 << 62
    return value is None if shape is None else type(value) is shape


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, name: str) -> NDArray[Any]:
    """An array, read into its memory without a copy; its CRC-32 is compared when its last byte is read."""
    stored, dimensions = _ARRAYS[name]
    with archive.open(info) as member:
        version = npy.read_magic(member)
        shape, is_fortran, dtype = npy.read_array_header_1_0(member)
        _check(math.prod(shape) * dtype.itemsize == info.file_size - member.tell() and version == (1, 0), name)
        _check(dtype.str in ((stored,) if stored else ("<f8", "<f4")), name)
        _check(len(shape) in ((dimensions,) if dimensions else (1, 2)), name)
        memory = np.empty(math.prod(shape), dtype=dtype)
        content = memory.view(np.uint8).data
        for start in range(0, memory.nbytes, _BLOCK):
            part = content[start : start + _BLOCK]
            part[:] = member.read(len(part))  # a ValueError if the file ends before
    _check(dtype.kind != "f" or np.isfinite(memory).all(), name)
    return memory.reshape(shape, order="F" if is_fortran else "C")


def _dataset(kind: str, described: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Dataset:
    names = tuple(described["feature_names"])
    corpus = _corpus(arrays, _features(arrays, len(names)), names)
    count, first_choices = len(corpus), arrays["first_choices"]
    sizes = np.maximum(np.diff(corpus.sentence_edges), 1)
    _check(len(first_choices) == count, "first choices")
    _check(np.all((first_choices >= -1) & (first_choices < sizes)), "first choices")
    for name in ("scores", "copies"):
        _check(name not in arrays or len(arrays[name]) == corpus.edges, name)
    for name in ("members", "references", "sources"):
        _check(described[name] is None or len(described[name]) == count, name)
    _check(described["ids_by"] in IDS, "kinds of ids")
    members, references, sources = described["members"], described["references"], described["sources"]
    is_flat = corpus.nodes == count and not len(corpus.tails) and np.diff(corpus.label_offsets).max(initial=0) <= 1
    _check(members is not None if kind == FORESTS else members is None and is_flat, "forests")
    return Dataset(
        ids=_ids(described["ids"], count),
        corpus=corpus,
        first_choices=first_choices,
        references=None if references is None else tuple(map(tuple, references)),
        sources=None if sources is None else tuple(sources),
        scores=arrays.get("scores"),
        copies=arrays.get("copies"),
        model=None if described["model"] is None else {name: float(v) for name, v in described["model"].items()},
        members=None if members is None else tuple(tuple(starmap(Member, each)) for each in members),
        ids_by=described["ids_by"],
        omitted=described["omitted"],
        unnamed=tuple(described["unnamed"]),
        skipped=tuple(starmap(Skipped, described["skipped"])),
        provenance=tuple(starmap(Provenance, described["provenance"])),
        qualities=_qualities(described["qualities"], arrays.get("qualities"), corpus.edges),
    )


def _ids(ids: Any, count: int) -> Any:
    if isinstance(ids, int):
        _check(ids == count, "ids")
        return range(count)
    _check(len(ids) == count == len(set(ids)) and len(set(map(type, ids))) <= 1, "ids")
    _check(sorted(ids) == ids or isinstance(ids[0], str), "ids")
    return tuple(ids)


def _qualities(names: list[str], table: NDArray[Any] | None, edges: int) -> dict[str, NDArray[Any]]:
    """The numbers of hypotheses that are no features, by name."""
    shape = () if table is None else table.shape
    _check(shape == ((edges, len(names)) if names else ()) and len(set(names)) == len(names), "qualities")
    return {} if table is None else dict(zip(names, table.T, strict=True))


def _features(arrays: dict[str, NDArray[Any]], width: int) -> Features:
    values = arrays["values"]
    if "value_offsets" not in arrays:
        _check(values.ndim == 2 and values.shape[1] == width, "features")
        return DenseFeatures(np.asfortranarray(values))
    offsets, columns = arrays["value_offsets"], arrays.get("value_columns", values[:0])
    _check_offsets(offsets, len(values))
    _check(columns.shape == values.shape and values.ndim == 1, "features")
    _check(not len(columns) or 0 <= columns.min() <= columns.max() < width, "features")
    return SparseFeatures(offsets, columns, values, width)


def _corpus(arrays: dict[str, NDArray[Any]], features: Features, names: tuple[str, ...]) -> Corpus:
    edges, tokens = features.shape[0], arrays["token_bytes"]
    edge_offsets, labels = arrays["edge_offsets"], arrays["labels"]
    _check_offsets(edge_offsets, edges)
    _check_offsets(arrays["token_offsets"], len(tokens))
    nodes = len(edge_offsets) - 1
    node_offsets = arrays.get("node_offsets", np.arange(nodes + 1, dtype=np.int64))
    _check_offsets(node_offsets, nodes)
    _check(np.all(np.diff(node_offsets) >= 1), "sentences without nodes")
    tails = arrays.get("tails", np.zeros(0, dtype=np.int32))
    tail_offsets = arrays.get("tail_offsets", np.zeros(edges + 1, dtype=np.int64))
    _check_offsets(tail_offsets, len(tails))
    label_offsets = arrays.get("label_offsets", np.arange(edges + 1, dtype=np.int64))
    _check_offsets(label_offsets, len(labels))
    edge_ids = arrays.get("edge_ids")
    if edge_ids is None:
        edge_ids = places_in_lists(edge_offsets[node_offsets])
    sentences, pruned = len(node_offsets) - 1, arrays.get("pruned")
    _check(len(tail_offsets) == len(label_offsets) == len(edge_ids) + 1 == edges + 1, "edges")
    _check(pruned is None or pruned.shape == (sentences, 2), "numbers of pruned edges")
    corpus = Corpus(
        node_offsets=node_offsets,
        edge_offsets=edge_offsets,
        tail_offsets=tail_offsets,
        tails=tails,
        features=features,
        feature_names=names,
        label_offsets=label_offsets,
        labels=labels,
        vocabulary=Vocabulary.packed(tokens, arrays["token_offsets"]),
        edge_ids=edge_ids,
        pruned=(Pruned(),) * sentences if pruned is None else tuple(starmap(Pruned, pruned.tolist())),
    )
    _check_graph(corpus)
    return corpus


def _check_offsets(offsets: NDArray[Any], end: int) -> None:
    """Refuse offsets that do not go from 0 to ``end`` without falling."""
    _check(
        len(offsets) > 0 and offsets[0] == 0 and offsets[-1] == end and np.all(offsets[1:] >= offsets[:-1]), "offsets"
    )


def _check_graph(corpus: Corpus) -> None:
    """Refuse graphs that break the invariants of Forest and Corpus, on which kernels rely."""
    if corpus.nodes > len(corpus):
        inner = np.ones(corpus.nodes, dtype=np.bool_)
        inner[corpus.node_offsets[1:] - 1] = False
        _check(np.all(np.diff(corpus.edge_offsets)[inner] > 0), "nodes without edges")
    if len(corpus.tails):
        # In 32 bits, and once for all edges of a node: these are the longest arrays.
        first_nodes = np.repeat(corpus.node_offsets[:-1], np.diff(corpus.node_offsets))
        places = (np.arange(corpus.nodes) - first_nodes).astype(np.int32)
        heads = np.repeat(places, np.diff(corpus.tail_offsets[corpus.edge_offsets]))
        _check(corpus.tails.min() >= 0 and np.all(corpus.tails < heads), "tails")
    if corpus.labels.min(initial=0) < 0:
        arities = np.diff(corpus.tail_offsets).astype(np.int32)
        _check(np.all(corpus.labels >= -np.repeat(arities, np.diff(corpus.label_offsets))), "labels")
    _check(corpus.labels.max(initial=-1) < len(corpus.vocabulary), "labels")


# Writing.


def write_packed(dataset: Dataset, file: IO[bytes]) -> None:
    """Write a dataset to a stream; linear in its size. The same dataset gives the same bytes."""
    arrays, kind = _arrays_of(dataset), LISTS if dataset.is_lists else FORESTS
    description = {"version": VERSION, "arrays": list(arrays), **_description(dataset)}
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(zipfile.ZipInfo(f"{kind}.json"), json.dumps(description))
        for name, values in arrays.items():
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w", force_zip64=values.nbytes > 1 << 30) as member:
                npy.write_array(member, values, version=(1, 0), allow_pickle=False)


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
    if qualities := _complete(dataset):
        arrays["qualities"] = np.stack(list(qualities.values())).T
    if isinstance(features, SparseFeatures):
        arrays |= {"value_offsets": features.offsets, "value_columns": features.columns}
    return arrays


def _complete(dataset: Dataset) -> dict[str, NDArray[Any]]:
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
        "qualities": list(_complete(dataset)),
        "skipped": [[fault.file, fault.line, fault.reason] for fault in dataset.skipped],
        "provenance": [[origin.file, origin.format] for origin in dataset.provenance],
    }
