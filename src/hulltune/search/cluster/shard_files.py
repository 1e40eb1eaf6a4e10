"""Shards of a dataset as packed files that are named by the hash of their bytes."""

from __future__ import annotations

import hashlib
import io
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path

import numpy as np

from hulltune.arrays import Bytes, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset
from hulltune.data.features import gather_rows
from hulltune.data.packed import Packed, write_packed
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError
from hulltune.formats.streams import written_atomically
from hulltune.metrics.base import Metric

SUFFIX = ".hull"


@dataclass(frozen=True, eq=False)
class ShardFile:
    """A shard: where its packed file is, the hash of its bytes, and the metric."""

    number: int
    path: str
    digest: str
    metric: Metric
    """The metric, or a stand-in for one whose statistics the driver tells (told.ToldMetric)."""

    def content(self) -> bytes:
        """The bytes of the file, if they are those that were written."""
        try:
            content = Path(self.path).read_bytes()
        except OSError as error:
            raise InputError(
                f"{self.path}: the file of a shard cannot be read ({error.strerror}); it must be in a folder that all "
                "workers see"
            ) from None
        self.check(content)
        return content

    def check(self, content: bytes | memoryview) -> None:
        """Refuse bytes that are not those of the shard."""
        if digest_of(content) != self.digest:
            raise InputError(
                f"{self.path}: the file of a shard has changed since it was written; delete it, and run it again"
            )

    def dataset(self, content: bytes | memoryview) -> Dataset:
        """The sentences of the shard."""
        return Packed(_InMemory(content), self.path).dataset()


def digest_of(content: bytes | memoryview) -> str:
    """The hash that names some bytes."""
    return hashlib.blake2b(content, digest_size=16).hexdigest()


def packed_bytes(dataset: Dataset, sentences: Int64s) -> bytes:
    """Some sentences of a dataset as a packed file, with their own texts alone."""
    part = dataset.take(sentences)
    plain = replace(part, corpus=with_own_words(part.corpus), skipped=(), unnamed=(), model=None)
    file = io.BytesIO()
    write_packed(plain, file)
    return file.getvalue()


def write_shard(content: bytes, folder: Path) -> Path:
    """Write the bytes of a shard into a folder, unless a run before has done so."""
    path = folder / f"shard-{digest_of(content)}{SUFFIX}"
    if not path.exists() or path.stat().st_size != len(content):
        with written_atomically(path) as file:
            file.write(content)
    return path


def with_own_words(corpus: Corpus) -> Corpus:
    """The corpus with a vocabulary of the words that occur in it, in the order of their numbers."""
    is_word = corpus.labels >= 0
    used, numbers = np.unique(corpus.labels[is_word], return_inverse=True)
    data, offsets = corpus.vocabulary.as_packed()
    own_offsets, places = gather_rows(offsets, used.astype(np.int64))
    own: Bytes = data[places]
    labels = corpus.labels.copy()
    labels[is_word] = numbers
    return replace(corpus, labels=labels, vocabulary=Vocabulary.packed(own, own_offsets))


def cuts(edges: Int64s, shards: int) -> list[tuple[int, int]]:
    """Sentences in at most so many parts of about equal numbers of edges, where ``edges`` are offsets by sentence."""
    wanted = np.searchsorted(edges, np.linspace(0, edges[-1], shards + 1)[1:-1])
    ends = np.unique(np.concatenate([[0], wanted, [len(edges) - 1]])).tolist()
    return list(pairwise(ends))


class _InMemory:
    """Bytes in memory, as packed files are read from."""

    def __init__(self, content: bytes | memoryview) -> None:
        self._content = memoryview(content)
        self.size = len(self._content)

    def read_into(self, start: int, memory: memoryview) -> None:
        """Fill the memory with the bytes from ``start`` on."""
        memory[:] = self._content[start : start + len(memory)]
