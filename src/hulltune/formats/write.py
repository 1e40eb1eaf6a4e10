"""Write a dataset in any format that can hold it."""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator
from pathlib import Path as FilePath

import numpy as np

from hulltune.data.dataset import Dataset
from hulltune.data.forest import Forest
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError, Note, unknown_name
from hulltune.formats.forest_files import NamedForest, Path
from hulltune.formats.read import DataLike, read
from hulltune.formats.registry import by_suffix, writer
from hulltune.formats.streams import without_suffix
from hulltune.names import FOREST_FORMATS, WRITERS


def writer_for(path: Path, name: str | None) -> str:
    """The format to write: the one named, or else the one of the suffix."""
    if name is None:
        name = by_suffix(without_suffix(FilePath(path)).suffix, to_write=True)
        if name is None:
            raise InputError(f"{os.fspath(path)}: its name does not tell a format; name one of {', '.join(WRITERS)}")
    if name not in WRITERS:
        raise unknown_name("format to write", name, WRITERS)
    return name


def write(data: DataLike, path: Path, format: str | None = None) -> None:  # noqa: A002  # the word that users type
    """Write a dataset, or anything that ``read`` takes, by default in the format of the suffix.

    Files appear complete or not at all. Forests are not written as lists: that needs a choice of derivations (kbest).

    >>> from hulltune import read, write
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> write(task.lists, "dev.jsonl")
    >>> read("dev.jsonl")
    Dataset(lists: 20 sentences, 200 hypotheses, 6 features)
    """
    name = writer_for(path, format)
    dataset = read(data)
    if dataset.qualities and name not in ("packed", "jsonl"):
        left_out = ", ".join(dataset.qualities)
        warnings.warn(f"{name} has no room for {left_out}, which are no features: left out", Note, stacklevel=2)
    if name in FOREST_FORMATS:
        writer(name)(path, forests_of_lists(dataset) if dataset.is_lists else named_forests(dataset))
    elif name == "packed" or dataset.is_lists:
        writer(name)(dataset, path)
    else:
        raise InputError(
            f"--to {name}: is for lists, and these are forests; choose derivations to write with hulltune kbest"
        )


def named_forests(dataset: Dataset) -> Iterator[NamedForest]:
    """Each forest with its name and the weights of the decoder, if they are known."""
    for name, forest in zip(dataset.names, dataset.corpus, strict=True):
        yield NamedForest(forest, str(name), dataset.model)


def forests_of_lists(lists: Dataset) -> Iterator[NamedForest]:
    """Each list as a forest of one node, with its texts split at white space."""
    vocabulary = Vocabulary()
    edges = lists.corpus.sentence_edges.tolist()
    for sentence, name in enumerate(lists.ids):
        first, last = edges[sentence], edges[sentence + 1]
        forest = Forest.from_nbest(
            lists.texts(np.arange(first, last)),
            lists.corpus.features.rows(first, last).copy(),
            feature_names=lists.feature_names,
            vocabulary=vocabulary,
        )
        yield NamedForest(forest, str(name))
