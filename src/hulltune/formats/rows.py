"""Hypotheses in the order of the files, and the dataset that they become."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bytes, Floats, Int32s, Int64s
from hulltune.data.dataset import Dataset, Provenance, SentenceId, Skipped, check_new_names, own_first_choices
from hulltune.data.features import DenseFeatures, Features, SparseFeatures, as_sparse, stays_dense, with_columns
from hulltune.data.lists import list_corpus, places_in_lists
from hulltune.errors import InputError
from hulltune.formats.numbers import LONE_SURROGATE, is_text
from hulltune.formats.streams import LineError, Problems
from hulltune.memory import check_memory

TAKE_AS_0 = "take what is missing as 0 (--missing 0; in Python missing=0)"
"""What messages about missing features advise."""

if TYPE_CHECKING:
    from hulltune.formats.records import Columns
    from hulltune.kernels.outputs.texts import Layouts

CHECKED = 1 << 24
"""Matrices that need more bytes than this are made only if they fit into memory."""
MOVED = 1 << 16
"""The rows whose values move to the matrix at a time."""


@dataclass
class Rows:
    """Hypotheses in file order. ``keys[r]`` is the number of row r's sentence in ``ids``."""

    ids: list[SentenceId]
    keys: Int64s
    feature_names: tuple[str, ...]
    values: array[float]
    """The values that the rows give, one row after the other; moving them to a dataset uses them up."""
    row_layout: Int32s
    layouts: Layouts
    """The columns of the values: those of row r are of layout ``row_layout[r]``. A column is at most once in a row."""
    text: Bytes
    text_lengths: Int64s
    scores: Floats | None
    references: Mapping[SentenceId, tuple[str, ...]] = field(default_factory=dict)
    sources: Mapping[SentenceId, str] = field(default_factory=dict)
    gaps: Int64s | None = field(default_factory=lambda: np.zeros(0, dtype=np.int64))
    """The numbers of skipped hypotheses among all as written; None if they are not known."""
    qualities: Mapping[str, Floats] = field(default_factory=dict)
    """Numbers of hypotheses that are no features, NaN where one has none. Hypotheses that differ in one are two."""

    def omitted(self) -> dict[str, int]:
        """The number of rows that leave out each feature, if there are any."""
        from hulltune.kernels.outputs import texts

        given = np.zeros(len(self.feature_names), dtype=np.int64)
        texts.count_columns(self.row_layout, self.layouts, given)
        counts = zip(self.feature_names, (len(self.keys) - given).tolist(), strict=True)
        return {name: count for name, count in counts if count}

    def fill(self, matrix: NDArray[Any], destination: Int64s) -> None:
        """Write the features of all rows into a matrix of zeros, row r at ``destination[r]``."""
        from hulltune.kernels.outputs import texts

        sizes = np.diff(self.layouts.starts)[self.row_layout]
        for stop in range(
            len(sizes), 0, -MOVED
        ):  # from the end, so that values and matrix never take their full memory
            some = slice(max(stop - MOVED, 0), stop)
            first = len(self.values) - int(sizes[some].sum())
            values = self.values[first:]
            del self.values[first:]
            texts.fill_matrix(np.asarray(values), self.row_layout[some], destination[some], self.layouts, matrix)

    def as_rows(self, dtype: Any) -> SparseFeatures:
        """The features of all rows as sparse rows with values of this type."""
        from hulltune.kernels.outputs import texts

        offsets = offsets_of(np.diff(self.layouts.starts)[self.row_layout])
        columns = np.empty(int(offsets[-1]), dtype=np.int32)
        texts.columns_of_rows(self.row_layout, self.layouts, columns)
        with np.errstate(over="ignore"):  # too large for float32: to_dataset refuses it with a message
            values = np.asarray(self.values).astype(dtype, copy=False)
        return SparseFeatures(offsets, columns, values, len(self.feature_names))


def to_dataset(
    rows: Rows,
    *,
    columns: Sequence[tuple[str, Floats]] = (),
    dtype: Any = np.float64,
    skipped: Iterable[Skipped] = (),
    provenance: Iterable[Provenance] = (),
) -> Dataset:
    """The dataset of rows, grouped by sentence, without duplicates. O(rows); a matrix of features is never copied.

    ``columns`` are further features, each with a name and a value a row. Features are stored as features.stays_dense
    says.
    """
    from hulltune.kernels.outputs import texts

    count, width = len(rows.keys), len(rows.feature_names) + len(columns)
    names, values_of = (*rows.feature_names, *(name for name, _ in columns)), [values for _, values in columns]
    check_new_names((), rows.feature_names)
    check_new_names(rows.feature_names, names[len(rows.feature_names) :])
    ids, sentence = _order_sentences(rows.ids, rows.keys)
    offsets = offsets_of(np.bincount(sentence, minlength=len(ids)))
    in_order = not count or bool(np.all(sentence[1:] >= sentence[:-1]))
    order = np.arange(count) if in_order else np.argsort(sentence, kind="stable")
    destination = order if in_order else np.empty(count, dtype=np.int64)
    destination[order] = np.arange(count)

    features: Features
    if stays_dense(width, count, len(rows.values) + count * len(columns)):
        features = _matrix(rows, values_of, (count, width), dtype, destination)
    else:
        features = _sparse_rows(rows, values_of, dtype, None if in_order else order)
    _check_range(features, names)
    text = rows.text
    text_offsets = offsets_of(rows.text_lengths)
    scores, qualities = rows.scores, dict(rows.qualities)
    if not in_order:
        text, text_offsets = _gather_texts(text, text_offsets, order)
        scores = None if scores is None else scores[order]
        qualities = {name: values[order] for name, values in qualities.items()}
    del order, destination, sentence

    hashes = texts.hash_texts(text, text_offsets)
    first = _first_of_equals(text, text_offsets, features, hashes.copy(), offsets, list(qualities.values()))
    copies = np.bincount(first, minlength=count).astype(np.int32) if count else np.zeros(0, dtype=np.int32)
    keep = np.flatnonzero(copies)
    ranks: Int64s | None = None  # None: no hypothesis is left out
    if len(keep) < count:
        if scores is not None:
            np.maximum.at(scores, first, scores.copy())  # the best score of equal hypotheses stays
            scores = scores[keep]
        features = _compact(features, keep)
        new_offsets = np.zeros(len(keep) + 1, dtype=np.int64)
        texts.gather_texts(text, text_offsets, keep, text, new_offsets)
        text, text_offsets = text[: new_offsets[-1]], new_offsets
        ranks, copies, hashes = places_in_lists(offsets)[keep], copies[keep], hashes[keep]
        qualities = {name: values[keep] for name, values in qualities.items()}
        offsets = np.searchsorted(keep, offsets).astype(np.int64)
    del first, keep
    corpus = list_corpus(offsets, text, text_offsets, features, names, ranks=ranks, hashes=hashes)
    name = str if len(ids) and isinstance(ids[0], str) else int  # once one id is a name, all are
    references = {name(number): texts_of for number, texts_of in rows.references.items()}
    sources = {name(number): source for number, source in rows.sources.items()}
    return Dataset(
        ids=ids,
        corpus=corpus,
        first_choices=own_first_choices(offsets, scores),
        references=tuple(references.get(i, ()) for i in ids) if references else None,
        sources=tuple(sources.get(i) for i in ids) if sources else None,
        scores=scores,
        copies=copies,
        omitted=rows.omitted(),
        unnamed=tuple(sorted(set(range(len(ids))) - set(rows.ids))) if len(ids) > len(rows.ids) else (),
        skipped=tuple(skipped),
        provenance=tuple(provenance),
        qualities=qualities,
    )


def written_features(lists: Dataset) -> Iterator[dict[str, float]]:
    """The features of each hypothesis by name, as files have them: of sparse ones, those that are not 0, but all of
    them for the first hypothesis, so that names and their order can be read back.
    """
    found = lists.corpus.features.by_name(lists.feature_names)
    if isinstance(lists.corpus.features, SparseFeatures):
        first = next(found, {})
        yield {name: first.get(name, 0.0) for name in lists.feature_names}
    yield from found


def _matrix(
    rows: Rows, columns: Sequence[Floats], shape: tuple[int, int], dtype: Any, destination: Int64s
) -> DenseFeatures:
    # The values move from where they were read to the matrix, piece by piece.
    needed = (shape[0] * shape[1] - len(rows.values)) * np.dtype(dtype).itemsize
    if needed > CHECKED:
        check_memory(needed, f"a matrix of {shape[0]:,} hypotheses and {shape[1]:,} features")
    matrix = np.zeros(shape, dtype=dtype, order="F")
    rows.fill(matrix, destination)
    for number, column in enumerate(columns, start=len(rows.feature_names)):
        matrix[destination, number] = column
    return DenseFeatures(matrix)


def _sparse_rows(rows: Rows, columns: Sequence[Floats], dtype: Any, order: Int64s | None) -> SparseFeatures:
    """The features as tidy sparse rows; row r is row ``order[r]`` of the file."""
    from hulltune.kernels.lists.features import tidy_rows

    found = rows.as_rows(dtype)
    if columns:
        found = as_sparse(with_columns(found, [column.astype(dtype) for column in columns]))
    if order is not None:
        found = found.take(order)
    _, offsets = tidy_rows(found.offsets, found.columns, found.values)
    return SparseFeatures(offsets, found.columns[: offsets[-1]], found.values[: offsets[-1]], found.width)


def _first_of_equals(
    text: Bytes,
    text_offsets: Int64s,
    features: Features,
    hashes: NDArray[np.uint64],
    offsets: Int64s,
    qualities: Sequence[Floats] = (),
) -> Int64s:
    """For each hypothesis, the first of its list with the same text, the same features and the same qualities.

    ``hashes`` has the hashes of the texts; they become those of texts and features. Tidy sparse rows are equal if
    their columns and their values are, byte by byte: both are compared like texts.
    """
    from hulltune.kernels.outputs import texts

    if isinstance(features, SparseFeatures):
        matrix = np.empty((len(hashes), 2), order="F")
        nothing = np.zeros((len(hashes), 0), order="F")
        for number, array in enumerate((features.columns, features.values)):
            as_bytes, ends = array.view(np.uint8), features.offsets * array.itemsize
            matrix[:, number] = texts.first_equals(as_bytes, ends, nothing, texts.hash_texts(as_bytes, ends), offsets)
    else:
        matrix = features.values
    if qualities:
        matrix = np.asfortranarray(np.column_stack([matrix.astype(np.float64), *map(np.nan_to_num, qualities)]))
    for column in matrix.T:
        texts.hash_column(column.astype(np.float64, copy=False).view(np.uint64), hashes)
    return texts.first_equals(text, text_offsets, matrix, hashes, offsets)


def _order_sentences(ids: list[SentenceId], keys: Int64s) -> tuple[Sequence[SentenceId], Int64s]:
    """The ids in their final order, and the sentence of every row in it."""
    if not all(isinstance(name, int) for name in ids):
        return tuple(str(name) for name in ids), keys
    numbers = np.array(ids, dtype=np.int64)
    last = int(numbers.max(initial=-1))
    if last < 10 * len(ids) + 100_000:  # line numbers: a gap is a sentence without hypotheses
        return range(last + 1), numbers[keys]
    by_number = np.argsort(numbers)  # numbers far apart are names: gaps mean nothing
    place = np.empty(len(ids), dtype=np.int64)
    place[by_number] = np.arange(len(ids))
    return tuple(int(number) for number in numbers[by_number]), place[keys]


def offsets_of(lengths: Int64s) -> Int64s:
    """Where each of parts of these lengths starts, and where the last one ends."""
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    return offsets


def _gather_texts(text: Bytes, offsets: Int64s, order: Int64s) -> tuple[Bytes, Int64s]:
    from hulltune.kernels.outputs import texts

    gathered, new_offsets = np.empty_like(text), np.zeros_like(offsets)
    texts.gather_texts(text, offsets, order, gathered, new_offsets)
    return gathered, new_offsets


def _compact(features: Features, keep: Int64s) -> Features:
    """The kept rows; those of a matrix are moved together within the same memory."""
    from hulltune.kernels.outputs import texts

    if isinstance(features, SparseFeatures):
        return features.take(keep)
    matrix = features.values
    flat = matrix.reshape(-1, order="F")
    count = len(keep)
    for number in range(matrix.shape[1]):
        texts.compact_column(matrix[:, number], keep, flat[number * count : (number + 1) * count])
    return DenseFeatures(flat[: count * matrix.shape[1]].reshape((count, matrix.shape[1]), order="F"))


def _check_range(features: Features, names: Sequence[str]) -> None:
    """Refuse infinity, which here is a value too large for float32: readers refuse the others."""
    if features.dtype == np.float64:
        return
    if isinstance(features, SparseFeatures):
        too_large = features.columns[~np.isfinite(features.values)].tolist()
    else:  # a column at a time: the rest needs no memory
        too_large = [k for k, column in enumerate(features.values.T) if not np.all(np.isfinite(column))]
    if too_large:
        at_fault = names[min(too_large)]
        raise InputError(f"feature {at_fault!r} has a value too large for float32; read the lists as float64")


class RowCollector:
    """A collector of hypotheses, one by one, for the formats that are read in Python.

    What cannot be taken raises LineError, which the reader of the line gives to ``fault``.
    """

    def __init__(
        self, problems: Problems | None = None, *, missing: float | None = None, columns: Columns | None = None
    ) -> None:
        from hulltune.formats.records import Columns

        self.problems = problems or Problems()
        self.columns = columns or Columns()
        self.first = 0
        """The sentence that further hypotheses and mentions count from: sentence n of theirs is ``first + n``."""
        self.documents: RowCollector | None = None
        """Who takes the rows instead, where these are documents that rankers scored."""
        self._missing = missing
        self._qualities: dict[str, dict[int, float]] = {}
        self._numbers: dict[SentenceId, int] = {}
        self._keys = array("q")
        self._columns: dict[str, int] = {}
        self._values = array("d")
        self._last_names: tuple[str, ...] | None = None
        self._layout_columns, self._layout_starts, self._row_layout = array("i"), array("q", [0]), array("i")
        self._text = bytearray()
        self._lengths = array("q")
        self._scores = array("d")
        self._gaps = array("q")
        self._gaps_known = True
        self._references: dict[SentenceId, tuple[str, ...]] = {}
        self._sources: dict[SentenceId, str] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def fill_missing(self) -> None:
        """Take features that further hypotheses leave out as 0."""
        self._missing = 0.0

    def fault(self, file: str, line: int, reason: LineError | str, *, lost: int | None = 1) -> None:
        """Report a line at fault, by which so many hypotheses are lost; None if nobody can tell how many."""
        if lost is None:
            self._gaps_known = False
        for _ in range(lost or 0):
            self._gaps.append(len(self._keys) + len(self._gaps))
        self.problems.report(file, line, str(reason))

    def declare(
        self, sentence: SentenceId, *, references: tuple[str, ...] | None = None, source: str | None = None
    ) -> None:
        """Mention a sentence, which may have no hypotheses; LineError if it contradicts an earlier mention."""
        if not all(is_text(text) for text in (*(references or ()), source or "")):
            raise LineError(LONE_SURROGATE)
        if self.first and isinstance(sentence, int):
            sentence += self.first
        self._numbers.setdefault(sentence, len(self._numbers))
        if references is not None and self._references.setdefault(sentence, references) != references:
            raise LineError(f"sentence {sentence!r} has other references than before")
        if source is not None and self._sources.setdefault(sentence, source) != source:
            raise LineError(f"sentence {sentence!r} has another source than before")

    def add(
        self,
        sentence: SentenceId,
        text: str,
        features: Mapping[str, float],
        score: float | None = None,
        qualities: Mapping[str, float] | None = None,
    ) -> None:
        """Take a hypothesis; LineError if it is at fault. ``qualities`` are no features."""
        if not is_text(text):
            raise LineError(LONE_SURROGATE)
        self._check(features, score)
        if self.first and isinstance(sentence, int):
            sentence += self.first
        self._numbers.setdefault(sentence, len(self._numbers))
        self._keys.append(self._numbers[sentence])
        names, columns = tuple(features), self._columns
        if names != self._last_names:  # most hypotheses have the features of the one before
            self._last_names = names
            self._layout_columns.extend([columns.setdefault(name, len(columns)) for name in names])
            self._layout_starts.append(len(self._layout_columns))
        self._row_layout.append(len(self._layout_starts) - 2)
        self._values.extend(features.values())
        encoded = text.encode("utf-8")
        self._text += encoded
        self._lengths.append(len(encoded))
        if score is not None:
            self._scores.append(score)
        for name, value in (qualities or {}).items():
            self._qualities.setdefault(name, {})[len(self._keys) - 1] = value

    def _check(self, features: Mapping[str, float], score: float | None) -> None:
        for name, value in features.items():
            if not -np.inf < value < np.inf:
                hint = f"; leave it out there, and {TAKE_AS_0}" if value != value else ""
                raise LineError(f"feature {name!r} is {value}; expected a finite number{hint}")
            if name not in self._columns and not is_text(name):
                raise LineError(LONE_SURROGATE)
        if score is not None and not -np.inf < score < np.inf:
            raise LineError(f"the score is {score}; expected a finite number")
        if not len(self._keys):
            return
        if (score is not None) != (len(self._scores) > 0):
            which = "a" if score is not None else "no"
            raise LineError(f"{which} score, unlike the hypotheses before; expected all or none")
        if self._missing is None and features.keys() != self._columns.keys():
            self.check_complete(features, self._columns)
            extra = next(name for name in features if name not in self._columns)
            raise LineError(f"feature {extra!r} is not among those of the first hypothesis; {TAKE_AS_0}")

    def check_complete(self, features: Mapping[str, float], names: Iterable[str]) -> None:
        """Refuse a hypothesis that lacks one of these features, unless what is missing is 0."""
        lacking = next((name for name in names if name not in features), None) if self._missing is None else None
        if lacking is not None:
            raise LineError(f"lacks feature {lacking!r}; give it, or {TAKE_AS_0}")

    def rows(self) -> Rows:
        """All hypotheses collected; the collector is of no use afterwards."""
        from hulltune.kernels.outputs.texts import Layouts

        return Rows(
            ids=list(self._numbers),
            keys=np.asarray(self._keys),
            feature_names=tuple(self._columns),
            values=self._values,
            row_layout=np.asarray(self._row_layout),
            layouts=Layouts(np.asarray(self._layout_starts), np.asarray(self._layout_columns)),
            text=np.frombuffer(self._text, dtype=np.uint8) if self._text else np.zeros(0, dtype=np.uint8),
            text_lengths=np.asarray(self._lengths),
            scores=np.asarray(self._scores) if len(self._scores) else None,
            references=self._references,
            sources=self._sources,
            gaps=np.asarray(self._gaps) if self._gaps_known else None,
            qualities={name: self._of_all(found) for name, found in self._qualities.items()},
        )

    def _of_all(self, found: Mapping[int, float]) -> Floats:
        """A number for each hypothesis, NaN where it has none."""
        values = np.full(len(self._keys), np.nan)
        values[list(found)] = list(found.values())
        return values
