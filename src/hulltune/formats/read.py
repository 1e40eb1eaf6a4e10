"""Read lists, lattices and forests in any format, from files or from memory, into a Dataset."""

from __future__ import annotations

import glob
import os
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from itertools import compress, groupby
from pathlib import Path as FilePath
from typing import Any, TypeAlias

import numpy as np

from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset, Member, Provenance, number_in_name
from hulltune.data.features import DenseFeatures, Features, SparseFeatures
from hulltune.data.forest import Forest
from hulltune.data.joining import Piece, from_forests, joined, pieces_of
from hulltune.data.matching import matched_aloud
from hulltune.data.packed import LISTS, packed_kind
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError, Note, unknown_name
from hulltune.formats.builtin_features import add_builtin_features
from hulltune.formats.extra_scores import read_column
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.forest_reading import read_forest_files
from hulltune.formats.jsonl import RECORDS, read_records
from hulltune.formats.moses import MosesReader
from hulltune.formats.nemo import read_nemo
from hulltune.formats.packed import open_packed
from hulltune.formats.reading import (
    COLUMNS,
    WITH_COLUMNS,
    Part,
    check_for_columns,
    check_for_forests,
    check_for_lists,
    check_for_memory,
    collector_of,
    columns_of,
    forest_options_of,
    sizes_told,
)
from hulltune.formats.records import Columns
from hulltune.formats.references import ReferencesLike, as_references
from hulltune.formats.registry import ENOUGH, SUMMED, reader, recognised_forests
from hulltune.formats.rows import RowCollector, Rows, to_dataset
from hulltune.formats.sniff import sniff, sniff_folder
from hulltune.formats.streams import Problems, Source, names_in, open_bytes, suffix_of, without_suffix
from hulltune.formats.table import FRAME, is_frame, read_frame
from hulltune.names import FOREST_FORMATS
from hulltune.options import Reading, by_keyword
from hulltune.threads import Workers, check_threads
from hulltune.wording import counted

DataLike: TypeAlias = Any
"""A Dataset, or anything that ``read`` takes: names of files, patterns or folders, a data frame, records, Forests."""
AMBIGUOUS = "openfst-text"
"""The format of forests that any columns of numbers look like."""
LOOKED_AT = 32
"""Files of a folder that are opened, to see their format, as one part of the work."""
NUMBERS = re.compile("([0-9]+)")
KEPT_OPEN = 64
"""This many files stay open from the look at their format to their reading; others are opened twice."""


@by_keyword(Reading)
def read(source: Any, references: ReferencesLike, reading: Reading) -> Dataset:
    """The candidate lists, lattices or forests of many sentences; linear in their size.

    ``source`` is the name of a file, pattern (``*.slf``) or folder, or several of them; or a data frame (of pandas or
    polars, a table of pyarrow, a Dataset of Hugging Face), records of the native format, Forests (one or several for
    each sentence), a Corpus, or a Dataset. ``references`` (a file, several files as Path objects, or texts) are matched
    with the sentences by ``Dataset.matched``. Files are read in the order given, those of a pattern or folder in
    natural order (2 before 10). In a folder, files that are neither forests nor Moses lists are listed in ``left_out``.

    The lists of a sentence in several files are joined; lines that ``on_error="skip"`` leaves out are listed in
    ``skipped``. Forests of the same sentence are searched as their union; n-best lists among them keep their own ids.
    Many files are read in parallel.

    ``model`` of the result has the weights by which the decoder ranked, if all files agree on them: the scales in the
    header of SLF, or 1 if the format has nothing but the parts of one score (OpenFst, Kaldi, plain Moses).

    >>> from pathlib import Path
    >>> from hulltune import read
    >>> _ = Path("dev.nbest").write_text("0 ||| a house ||| lm=-2 words=2 ||| -2")
    >>> read("dev.nbest", ["a house"])
    Dataset(lists: 1 sentence, 1 hypothesis, 2 features)
    >>> read([{"refs": ["a house"], "candidates": [{"text": "a house", "features": {"lm": -2.0}}]}]).feature_names
    ('lm',)
    """
    texts = as_references(references)
    dataset = read_with(reading, source)
    return dataset if texts is None else matched_aloud(dataset, texts)


def read_with(reading: Reading, source: Any) -> Dataset:
    """The dataset of a source, read with these options; see ``read``."""
    with sizes_told(source):
        return _read(reading, source)


def _read(reading: Reading, source: Any) -> Dataset:
    """The dataset of a source, from memory or from files."""
    if isinstance(source, (Dataset, Corpus, Forest)):
        return _from_memory(reading, source)
    if isinstance(source, Mapping) and any(map(is_frame, source.values())):
        raise InputError(f"a frame for each of {', '.join(map(repr, source))}; give one of them, such as data[…]")
    if hasattr(source, "collect") and hasattr(source, "collect_schema"):  # a LazyFrame of polars
        source = source.collect()
    if is_frame(source):
        check_for_memory(reading, "a data frame", "missing", "on_error", "add", "features", "dtype", *COLUMNS)
        problems, collector = Problems(reading.on_error), collector_of(reading)
        read_frame(source, collector, problems)
        return _lists(reading, collector.rows(), [Provenance(FRAME, FRAME)], problems)
    if isinstance(source, (str, os.PathLike)):
        source = [source]
    items = list(source) if isinstance(source, Iterable) else [source]
    if not items:
        raise InputError("paths: expected at least one file, got none")
    first = next((item for item in items if not (isinstance(item, (list, tuple)) and not item)), None)
    if isinstance(first, Forest) or (isinstance(first, (list, tuple)) and isinstance(first[0], Forest)):
        return _from_memory(reading, items)
    if isinstance(first, Mapping):
        check_for_memory(reading, "records", "missing", "on_error", "add", "features", "dtype", *COLUMNS)
        problems, collector = Problems(reading.on_error), collector_of(reading)
        read_records(items, collector, problems)
        return _lists(reading, collector.rows(), [Provenance(RECORDS, RECORDS)], problems)
    for item in items:
        if not isinstance(item, (str, os.PathLike)):
            raise InputError(f"paths: got {item!r}; expected the name of a file, or a data frame")
    return _read_parts(reading, [Part(tuple(items))])


def _from_memory(reading: Reading, source: Any) -> Dataset:
    """The dataset of forests as they are, or of lists, perhaps with further features."""
    if isinstance(source, Dataset):
        check_for_memory(reading, "a Dataset", "features")
        return add_builtin_features(source, reading.features)
    check_for_memory(reading, "forests", "features")
    return add_builtin_features(from_forests([source] if isinstance(source, Forest) else source), reading.features)


# Files and their formats.


@dataclass(frozen=True)
class _File:
    """A file to be read, and its format."""

    source: Source
    format: str
    first: int = 0
    """The sentence that the ids of the file count from."""

    @property
    def has_forests(self) -> bool:
        """Whether the file holds forests rather than lists."""
        if self.format == "packed":
            return packed_kind(self.source.head()) != LISTS
        return self.format in FOREST_FORMATS


@dataclass
class _Files:
    """The files of all names, patterns and folders, in order."""

    format: str | None
    columns: Columns
    threads: int
    found: list[_File] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    _opened: list[Source] = field(default_factory=list)
    _first: int = 0

    def add(self, path: Path, first: int = 0) -> None:
        """Add a file, the files that match a pattern, or those of a folder, whose ids count from ``first``."""
        self._first = first
        matching = matching_files(path)
        for match in matching:
            source = self._source(match)
            if os.path.isdir(match):
                names = names_in(FilePath(match))
                kind = self.format or sniff_folder(FilePath(match), *names)
                is_of_forests = matching == [path] and (kind in FOREST_FORMATS or kind == "packed")
            else:
                kind, is_of_forests = self.format or sniff(source, self.columns), False
            if is_of_forests:
                self._add_folder(FilePath(path), *names)
            else:
                self._take(source, kind)

    def close(self) -> None:
        """Close the files that were opened and not read to their ends."""
        for source in self._opened:
            source.close()

    def _source(self, path: Path) -> Source:
        self._opened.append(Source(path))
        return self._opened[-1]

    def _take(self, source: Source, kind: str) -> None:
        self.found.append(_File(source, kind, self._first))
        if len(self.found) > KEPT_OPEN:
            source.let_go()

    def _add_folder(self, folder: FilePath, files: Sequence[str], folders: Sequence[str]) -> None:
        start = os.fspath(folder / "-")[:-1]
        sources = [self._source(start + name) for name in sorted(files, key=natural_key)]
        formats = self._formats(sources)
        if set(formats) - {None, AMBIGUOUS}:  # beside other forests it may be a file of references with numbers
            formats = [None if kind == AMBIGUOUS else kind for kind in formats]
        suffixes: set[str] = set()
        if None in formats:
            suffixes = {suffix_of(file.name) for file, kind in zip(sources, formats, strict=True) if kind}
        self.left_out += [f"{start}{name}/" for name in sorted(folders, key=natural_key)]
        for source, kind in zip(sources, formats, strict=True):
            if kind is not None:
                self._take(source, kind)
            elif suffix_of(source.name) in suffixes - {""}:
                raise InputError(
                    f"{source.name}: cannot tell the format, but its name ends like those of the forests beside it; "
                    "if it is none, give the forests by a pattern"
                )
            else:
                source.let_go()
                self.left_out.append(source.name)

    def _formats(self, sources: Sequence[Source]) -> list[str | None]:
        """The format of each file beside forests; threads share the files, which are opened."""
        if self.format:
            return [self.format] * len(sources)

        def of_some(first: int) -> list[str | None]:
            some = range(first, min(first + LOOKED_AT, len(sources)))
            return [_sniff_in_folder(sources[k], keep=k < KEPT_OPEN) for k in some]

        found = Workers(self.threads).map(of_some, range(0, len(sources), LOOKED_AT))
        return [kind for some in found for kind in some]


def _sniff_in_folder(source: Source, *, keep: bool) -> str | None:
    """The format of a file beside forests, or None: one of forests, or moses, which looks like nothing else."""
    first = source.head(ENOUGH)
    if not keep:
        source.let_go()
    found = recognised_forests(first)
    if found is None and b"|||" in first.split(b"\n", 1)[0]:
        return "moses"
    return found


def matching_files(path: Path) -> list[Path]:
    """The files that match a pattern, in natural order; a name that is no pattern stays as it is."""
    name = os.fspath(path)
    if not glob.has_magic(name) or os.path.exists(name):
        return [path]
    found: list[Path] = [*sorted((match for match in glob.glob(name) if os.path.isfile(match)), key=natural_key)]
    if not found:
        raise InputError(f"{name}: no file matches this pattern")
    return found


def natural_key(name: Path) -> list[Any]:
    """A sort key for names that orders the numbers in them by value."""
    parts: list[Any] = NUMBERS.split(os.fspath(name))  # texts, which may be empty, with a number between each two
    parts[1::2] = [(int(number), number) for number in parts[1::2]]
    return parts


def read_parts(reading: Reading, parts: Sequence[Part]) -> Dataset:
    """The dataset of all parts, which is that of one file with all their sentences."""
    with sizes_told([path for part in parts for path in part.paths]):
        return _read_parts(reading, parts)


def _read_parts(reading: Reading, parts: Sequence[Part]) -> Dataset:
    files = _Files(reading.format, columns_of(reading), check_threads(reading.threads))
    with closing(files):
        for part in parts:
            for path in part.paths:
                files.add(path, part.first)
        if not files.found and not files.left_out:
            raise InputError("no file has any content")
        if not any(file.has_forests for file in files.found):
            check_for_lists(reading)
            return _read_lists(reading, files.found)
        check_for_forests(reading)
        return _as_type(add_builtin_features(_read_forests(reading, files), reading.features), reading.dtype)


# Lists.


def _read_lists(reading: Reading, files: Sequence[_File]) -> Dataset:
    """The dataset of all lists at once: the lists of a sentence are joined."""
    provenance = [Provenance(file.source.name, file.format) for file in files]
    check_for_columns(reading, {file.format for file in files})
    if any(file.format == "packed" for file in files):
        return add_builtin_features(_without_ignored(reading, _open_packed(reading, files)), reading.features)
    problems = Problems(reading.on_error)
    return _lists(reading, _rows(reading, files, problems), provenance, problems)


def _lists(reading: Reading, rows: Rows, provenance: Sequence[Provenance], problems: Problems) -> Dataset:
    """The dataset of rows, with the further features of the options."""
    if not len(rows.ids):
        where = ", ".join(origin.file for origin in provenance)
        skipped = (
            f" (skipped {counted(len(problems.skipped), 'line')}, first {problems.skipped[0]})"
            if problems.skipped
            else ""
        )
        raise InputError(f"{where}: no candidate lists{skipped}")
    columns = [read_column(path, name, rows) for path, name in reading.add]
    dtype = np.dtype(reading.dtype)
    lists = to_dataset(rows, columns=columns, dtype=dtype, skipped=problems.skipped, provenance=provenance)
    if not all(origin.format in (*WITH_COLUMNS, FRAME, RECORDS) for origin in provenance):
        lists = _without_ignored(reading, lists)
    return add_builtin_features(lists, reading.features)


def _without_ignored(reading: Reading, lists: Dataset) -> Dataset:
    """The lists of a format without columns, without the features that are to be ignored."""
    columns = columns_of(reading)
    if not columns.ignore:
        return lists
    columns.check_patterns(lists.provenance[0].file, lists.feature_names)
    return lists.with_features([name for name in lists.feature_names if columns.role(name) != "ignored"])


def _open_packed(reading: Reading, files: Sequence[_File]) -> Dataset:
    """The dataset of a packed file of lists, which must be the only file."""
    name = files[0].source.name
    if len(files) > 1 or files[0].first:
        raise InputError(f"{name}: a packed file is read alone; give the original lists, or pack them all")
    if reading.add:
        raise InputError(f"{name}: scores are added to the original lists, not to a packed file")
    lists = open_packed(files[0].source)
    dtype, packed = np.dtype(reading.dtype), lists.corpus.features.dtype
    if packed != dtype and dtype != np.float64:
        raise InputError(f"{name}: packed as {packed}; pack it again as {dtype}")
    return lists


def _rows(reading: Reading, files: Sequence[_File], problems: Problems) -> Rows:
    """The rows of all files. The kernel reads Moses lists; other formats go through one collector."""
    formats = {file.format for file in files}
    if "moses" in formats and len(formats) > 1:
        raise InputError(f"the files are in different formats ({', '.join(sorted(formats))})")
    if "moses" in formats:
        moses = MosesReader(problems=problems, missing=reading.missing, dtype=np.dtype(reading.dtype))
        for file in files:
            moses.first = file.first
            moses.read(file.source)
        return moses.rows()
    collector = collector_of(reading)
    for first, part in groupby(files, key=lambda file: file.first):
        collector.first = first
        _collect(list(part), collector, problems)
    return collector.rows()


def _collect(files: Sequence[_File], collector: RowCollector, problems: Problems) -> None:
    """Collect the rows of files that count from one sentence; some formats need several files together."""
    nemo = [file.source for file in files if file.format == "nemo"]
    if nemo:
        read_nemo(nemo, collector, problems)
    for file in files:
        if file.format != "nemo":
            reader(file.format)(file.source, collector, problems)


# Forests, and lists among them.


def _read_forests(reading: Reading, files: _Files) -> Dataset:
    options = forest_options_of(reading)
    alone = [(file.format, file.first) for file in files.found] == [("packed", 0)]
    if alone and options == ForestOptions():
        return open_packed(files.found[0].source)
    names = _Names(reading.ids)
    vocabulary = Vocabulary()
    pieces: list[Piece] = []
    models: list[Mapping[str, float] | None] = []
    notes: dict[str, list[str]] = {}
    have_forests = [file.has_forests for file in files.found]
    list_files = [file for file, has_forests in zip(files.found, have_forests, strict=True) if not has_forests]
    lists: Dataset | None = None
    forest_files = [(file.source, file.format) for file in compress(files.found, have_forests)]
    threads = check_threads(reading.threads)
    read_files = iter(read_forest_files(forest_files, options, vocabulary, threads=threads))
    for file, has_forests in zip(files.found, have_forests, strict=True):
        if has_forests:
            forests = next(read_files)
            for number, forest in enumerate(forests):
                models.append(_model(file.format, forest))
                for text, example in forest.notes.items():
                    notes.setdefault(text, []).append(f"{example} in {file.source.name}")
                sentence = names.sentence(file, forest, len(forests))
                member = _member(file, forest.name or (f"{number}" if len(forests) > 1 else None))
                pieces.append(Piece(sentence, forest.forest, member))
        elif lists is None:  # all lists at once: the lists of a sentence are joined
            lists = _read_lists(Reading(missing=reading.missing), list_files)
            pieces += pieces_of(lists, vocabulary)
    if not pieces:
        raise InputError(f"{', '.join(file.source.name for file in files.found)}: no forests")
    for text, places in notes.items():
        others = f", and {len(places) - 1:,} more" if len(places) > 1 else ""
        warnings.warn(f"{text} ({places[0]}{others})", Note, stacklevel=2)
    dataset = joined(
        pieces, lists=lists, ids_by=names.kind, left_out=files.left_out,
        provenance=[Provenance(file.source.name, file.format) for file in files.found],
        threads=threads,
    )  # fmt: skip
    if options.negate is None and lists is None:  # with other signs the weights of the decoder do not fit
        dataset = replace(dataset, model=_common_model(models))
    if isinstance(options.negate, frozenset):
        for name in sorted(options.negate):
            if name not in dataset.feature_names:
                raise unknown_name("feature in negate:", name, dataset.feature_names)
    return dataset if names.listed is None else replace(dataset, listed=len(names.listed))


def _member(file: _File, name: str | None) -> Member:
    """The origin of a forest. Numbers in a part become numbers of the whole, so that references find them."""
    path = file.source.name
    if not file.first:
        return Member(path, name)
    if without_suffix(FilePath(path)).stem.isdigit():
        path = os.path.dirname(path)
    return Member(path, f"{int(name) + file.first}" if name is not None and name.isdigit() else name)


def _model(format_name: str, named: NamedForest) -> Mapping[str, float] | None:
    """The weights by which the decoder of a forest ranked: those of its file, or 1 for all parts of one score."""
    names, summed = named.forest.feature_names, SUMMED.get(format_name, ())
    if named.model is None and len(names) == len(summed) and set(names) == set(summed):
        return dict.fromkeys(names, 1.0)
    return named.model


def _common_model(models: Sequence[Mapping[str, float] | None]) -> Mapping[str, float] | None:
    """The weights of all forests, or None if one has none, or if they disagree, which a note tells."""
    common: dict[str, float] = {}
    for model in models:
        if model is None:
            return None
        for name, weight in model.items():
            if common.setdefault(name, weight) != weight:
                warnings.warn(
                    f"the files have different scales ({common[name]} and {weight} for {name}): none is taken for the "
                    "choice of the decoder, nor written",
                    Note,
                    stacklevel=2,
                )
                return None
    return common if any(common.values()) else None


def _as_type(dataset: Dataset, dtype: Any) -> Dataset:
    """The dataset with features of this type, float64 or float32."""
    features = dataset.corpus.features
    if np.dtype(dtype) == np.float64 or features.dtype == dtype:
        return dataset
    with np.errstate(over="ignore"):
        values = features.values.astype(dtype, order="F")
    if not np.all(np.isfinite(values)):
        raise InputError("a feature has a value too large for float32; read the forests as float64")
    smaller: Features = DenseFeatures(values)
    if isinstance(features, SparseFeatures):
        smaller = SparseFeatures(features.offsets, features.columns, values, features.width)
    return replace(dataset, corpus=replace(dataset.corpus, features=smaller))


class _Names:
    """The sentence of each forest, found by its place, its name or a file of names: ``ids`` of ``read``."""

    def __init__(self, ids: str | os.PathLike[str]) -> None:
        self._ids = os.fspath(ids)
        self.listed = None if self._ids in ("order", "name", "name1") else _Listed(ids)
        self.kind = self._ids if self.listed is None else "name"
        self._first = 0
        self._position = -1

    def sentence(self, file: _File, forest: NamedForest, count: int) -> int:
        """The sentence of the next forest, one of ``count`` in its file."""
        if file.first != self._first:
            self._first, self._position = file.first, -1
        self._position += 1
        if self.listed is not None:
            return file.first + self._line(file.source, forest, count, self.listed)
        if self._ids == "order":
            return file.first + self._position
        return file.first + self._number(file.source.name, forest, count)

    def _number(self, name: str, forest: NamedForest, count: int) -> int:
        """The sentence by the number in the name of a file or, if that has several forests, of a forest."""
        own = _last_number(forest.name or "")
        of_file = number_in_name(name)
        number = own if count > 1 or of_file is None else of_file
        if number is None:
            if count > 1:
                raise InputError(
                    f"{name}: {count} forests, of which one has no number in its name ({forest.name!r}); "
                    "use --ids order"
                )
            raise InputError(f"{name}: no number in the name of the file to tell its sentence by; use --ids order")
        if self._ids == "name1":
            if number == 0:
                raise InputError(f"{name}: sentence 0, but --ids name1 counts from 1; use --ids name")
            number -= 1
        return number

    def _line(self, file: Source, forest: NamedForest, count: int, listed: _Listed) -> int:
        """The line with the name of a forest or of its file."""
        stem = without_suffix(FilePath(file)).stem
        names = [forest.name] if count > 1 else [stem, FilePath(file).name, forest.name]
        place = listed.place(names)
        if place is None:
            name = forest.name if count > 1 else stem
            raise InputError(f"{file.name}: {self._ids} has no line for {name!r}; expected the names of all forests")
        return place


class _Listed:
    """The lines of a file of names: a name is the first word of a line, or all of it (a name with blanks)."""

    def __init__(self, path: Path) -> None:
        self._file = os.fspath(path)
        with open_bytes(path) as stream:
            self._lines = [line.strip() for line in stream.read().decode("utf-8", errors="replace").splitlines()]
        if "" in self._lines:
            number = self._lines.index("") + 1
            raise InputError(f"{self._file}:{number}: an empty line; expected the name of a forest")
        self._whole: dict[str, int] = {}
        self._words: dict[str, int] = {}
        self._fault: InputError | None = None
        """The first word that two lines begin with: a fault unless names have blanks, and are whole lines."""
        for number, line in enumerate(self._lines):
            word = line.split()[0]
            first = self._words.setdefault(word, number)
            if first != number:
                again = InputError(f"{self._file}:{number + 1}: {word!r} again, after line {first + 1}")
                if line in self._whole:
                    raise again
                self._fault = self._fault or again
            self._whole[line] = number

    def __len__(self) -> int:
        return len(self._lines)

    def place(self, names: Sequence[str | None]) -> int | None:
        """The line, from 0, of the first of these names that there is, or None."""
        for name in names:
            if name is not None and name in self._whole and " " in name:
                return self._whole[name]
        if self._fault is not None:
            raise self._fault
        return next((self._words[name] for name in names if name in self._words), None)


def _last_number(name: str) -> int | None:
    numbers = re.findall(r"[0-9]+", name)
    return int(numbers[-1]) if numbers else None
