"""Forests as a packed file (packed_file.py): opened by memory map, whatever format they were read from."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.data.corpus import Corpus
from hulltune.data.features import DenseFeatures, Features, SparseFeatures
from hulltune.data.forest import Pruned
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.candidates import Provenance
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.forest_set import ForestSet, Member
from hulltune.formats.packed_file import (
    FORESTS,
    check_dtypes,
    check_offsets,
    open_packed_file,
    packed_kind,
    write_packed,
)
from hulltune.names import IDS

_ARRAYS = {
    "node_offsets": "<i8", "edge_offsets": "<i8", "tail_offsets": "<i8", "tails": "<i4", "label_offsets": "<i8",
    "labels": "<i4", "edge_ids": "<i8", "token_bytes": "|u1", "token_offsets": "<i8", "pruned": "<i8",
    "first_choices": "<i8", "values": "", "value_offsets": "<i8", "value_columns": "<i4",
}  # fmt: skip
_OF_CORPUS = ("node_offsets", "edge_offsets", "tail_offsets", "tails", "label_offsets", "labels", "edge_ids")


def looks_like(head: bytes) -> bool:
    """Whether a file that begins like this is a packed file of forests."""
    return packed_kind(head) == FORESTS


def pack_forests(forests: ForestSet, path: Path) -> None:
    """Write forests as a packed file; it appears complete or not at all."""
    corpus = forests.corpus
    features = corpus.features
    tokens = [token.encode("utf-8") for token in corpus.vocabulary.tokens]
    arrays: dict[str, NDArray[Any]] = {
        **{name: getattr(corpus, name) for name in _OF_CORPUS},
        "token_bytes": np.frombuffer(b"".join(tokens), dtype=np.uint8),
        "token_offsets": np.concatenate([[0], np.cumsum([len(token) for token in tokens])]).astype(np.int64),
        "pruned": np.array([(each.nodes, each.edges) for each in corpus.pruned], dtype=np.int64).reshape(-1, 2),
        "first_choices": forests.first_choices.astype(np.int64),
        "values": features.values,
    }
    if isinstance(features, SparseFeatures):
        arrays |= {"value_offsets": features.offsets, "value_columns": features.columns}
    description = {
        "feature_names": list(corpus.feature_names),
        "ids": list(forests.ids),
        "ids_by": forests.ids_by,
        "model": None if forests.model is None else dict(forests.model),
        "members": [[[member.file, member.name, member.is_list] for member in each] for each in forests.members],
        "references": forests.references,
        "sources": forests.sources,
        "provenance": [[origin.file, origin.format] for origin in forests.provenance],
    }
    write_packed(path, FORESTS, description, arrays)


def open_forests(path: Path) -> ForestSet:
    """Open a packed file of forests by memory map; features are read when they are needed.

    Checked beside the file itself: everything that kernels take as the number of something else, so that a damaged
    file cannot lead them astray. O(edges), without the features.
    """
    return open_packed_file(path, FORESTS, _forest_set)


def read_packed_forests(path: Path, options: ForestOptions, vocabulary: Vocabulary) -> Iterator[NamedForest]:
    """The forests of a packed file one by one, among those of other files. They are as they were packed."""
    if options != ForestOptions():
        raise InputError(
            f"{os.fspath(path)}: packed forests are as they were when they were packed; "
            "negate features, drop words and give symbols then"
        )
    found = open_forests(path)
    for name, forest in zip(found.ids, found.corpus, strict=True):
        yield NamedForest(forest, str(name))


def _forest_set(description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> ForestSet:
    check_dtypes(arrays, _ARRAYS)
    features = _features(arrays, len(description["feature_names"]))
    corpus = Corpus(
        **{name: arrays[name] for name in _OF_CORPUS},
        features=features,
        feature_names=tuple(description["feature_names"]),
        vocabulary=_vocabulary(arrays["token_bytes"], arrays["token_offsets"]),
        pruned=tuple(Pruned(*each) for each in arrays["pruned"].tolist()),
    )
    _check(corpus)
    references, sources = description["references"], description["sources"]
    found = ForestSet(
        ids=tuple(description["ids"]),
        corpus=corpus,
        members=tuple(tuple(Member(*member) for member in each) for each in description["members"]),
        first_choices=arrays["first_choices"],
        references=None if references is None else tuple(tuple(texts) for texts in references),
        sources=None if sources is None else tuple(sources),
        ids_by=description["ids_by"],
        model=description.get("model"),
        provenance=tuple(Provenance(*origin) for origin in description["provenance"]),
    )
    if not len(found.ids) == len(corpus) == len(found.members) == len(found.first_choices) == len(corpus.pruned):
        raise ValueError("names that do not fit the arrays")
    if np.any(found.first_choices < -1) or np.any(found.first_choices >= np.maximum(np.diff(corpus.sentence_edges), 1)):
        raise ValueError("first choices that do not fit")
    if found.ids_by not in IDS:
        raise ValueError(f"ids by {found.ids_by!r}")
    return found


def _features(arrays: dict[str, NDArray[Any]], width: int) -> Features:
    values = arrays["values"]
    if values.dtype not in (np.float32, np.float64):
        raise ValueError(f"values is {values.dtype.str}")
    if "value_offsets" not in arrays:
        if values.ndim != 2 or values.shape[1] != width:
            raise ValueError("features that do not fit")
        return DenseFeatures(values)
    offsets, columns = arrays["value_offsets"], arrays["value_columns"]
    check_offsets(offsets, len(values))
    if columns.shape != values.shape or values.ndim != 1 or np.any((columns < 0) | (columns >= width)):
        raise ValueError("features that do not fit")
    return SparseFeatures(offsets, columns, values, width)


def _vocabulary(data: NDArray[np.uint8], offsets: NDArray[np.int64]) -> Vocabulary:
    check_offsets(offsets, len(data))
    text = data.tobytes()
    tokens = [text[begin:end].decode("utf-8") for begin, end in pairwise(offsets.tolist())]
    vocabulary = Vocabulary(tokens)
    if len(vocabulary) != len(tokens):
        raise ValueError("a word that stands twice")
    return vocabulary


def _check(corpus: Corpus) -> None:
    """What kernels rely on: see Forest and Corpus."""
    edges = corpus.features.shape[0]
    check_offsets(corpus.node_offsets, len(corpus.edge_offsets) - 1)
    if np.any(np.diff(corpus.node_offsets) < 1):
        raise ValueError("a sentence without nodes")
    for offsets, end in (
        (corpus.edge_offsets, edges),
        (corpus.tail_offsets, len(corpus.tails)),
        (corpus.label_offsets, len(corpus.labels)),
    ):
        check_offsets(offsets, end)
    if not len(corpus.tail_offsets) - 1 == len(corpus.label_offsets) - 1 == len(corpus.edge_ids) == edges:
        raise ValueError("arrays of different lengths")
    degrees = np.diff(corpus.edge_offsets)
    inner = np.ones(corpus.nodes, dtype=np.bool_)
    inner[corpus.node_offsets[1:] - 1] = False
    if np.any(degrees[inner] == 0):
        raise ValueError("a node without edges")
    # In 32 bits, and once for all edges of a node: these are the longest arrays.
    first_nodes = np.repeat(corpus.node_offsets[:-1], np.diff(corpus.node_offsets))
    places = (np.arange(corpus.nodes) - first_nodes).astype(np.int32)
    heads = np.repeat(places, np.diff(corpus.tail_offsets[corpus.edge_offsets]))
    if corpus.tails.min(initial=0) < 0 or np.any(corpus.tails >= heads):
        raise ValueError("a tail that does not come before its head")
    arities = np.diff(corpus.tail_offsets).astype(np.int32)
    tails_of_label = np.repeat(arities, np.diff(corpus.label_offsets))
    if corpus.labels.max(initial=-1) >= len(corpus.vocabulary) or np.any(corpus.labels < -tails_of_label):
        raise ValueError("a label that stands for nothing")
