"""Read lists, lattices and forests in any format, from files or from memory, into a Dataset."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import compress, groupby
from typing import Any, TypeAlias

import numpy as np

from hulltune.data.corpus import Corpus
from hulltune.data.dataset import Dataset, Provenance
from hulltune.data.features import DenseFeatures, Features, SparseFeatures
from hulltune.data.forest import Forest
from hulltune.data.joining import Piece, from_forests, joined, pieces_of
from hulltune.data.matching import matched_aloud
from hulltune.data.normalising import Normalisation
from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError, Note, OptionError, unknown_name
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.forest_names import SentenceNames, member_of
from hulltune.formats.forest_reading import read_forest_files
from hulltune.formats.found_files import Finder, FoundFile
from hulltune.formats.further_features import add_builtin_features, read_column
from hulltune.formats.jsonl import RECORDS, read_records
from hulltune.formats.letor import read_letor
from hulltune.formats.moses import MosesReader
from hulltune.formats.packed import open_packed
from hulltune.formats.rankings import DocumentCollector, told_of
from hulltune.formats.records import Columns
from hulltune.formats.references import ReferencesLike, as_references
from hulltune.formats.registry import SUMMED, reader
from hulltune.formats.rows import RowCollector, Rows, to_dataset
from hulltune.formats.streams import Problems
from hulltune.formats.table import FRAME, is_frame, read_frame
from hulltune.formats.toolkits import read_nemo
from hulltune.formats.trec import read_runs, runs_in_memory
from hulltune.names import FOREST_FEATURES, RANKING_FORMATS
from hulltune.options import Reading, by_keyword
from hulltune.threads import check_threads

DataLike: TypeAlias = Any
"""A Dataset, or anything that ``read`` takes: names of files, patterns or folders, a data frame, records, Forests."""
COLUMNS = ("id_column", "text_column", "ref_column", "source_column", "ignore")
"""The options that say what columns mean."""
WITH_COLUMNS = ("csv", "tsv", "parquet", "jsonl")
"""The formats of lists that have columns or keys with names."""
FOR_RANKINGS = ("normalise", "window")
"""The options for scores of rankers."""
FOR_LISTS, FOR_FORESTS = ("add", "on_error", *COLUMNS), ("ids", "negate", "drop", "symbols")
"""The options that suit only one kind of data."""


@dataclass(frozen=True)
class Part:
    """Files with a part of all sentences: id n, or the place n where the order tells, is sentence ``first + n``."""

    paths: tuple[Path, ...]
    first: int = 0


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
    with _memory_told():
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
        return _from_rows(reading, source, read_frame, FRAME)
    if isinstance(source, (str, os.PathLike)):
        source = [source]
    runs = runs_in_memory(source)
    if runs is not None:
        _check_for_memory(reading, "runs", "missing", "negate", "features", "dtype", "ignore", *FOR_RANKINGS)
        found = read_runs(runs, _normalisation(reading, "minmax"), reading.negate)
        return _as_type(add_builtin_features(_without_ignored(reading, found), reading.features), reading.dtype)
    items = list(source) if isinstance(source, Iterable) else [source]
    if not items:
        raise InputError("paths: expected at least one file, got none")
    first = next((item for item in items if not (isinstance(item, (list, tuple)) and not item)), None)
    if isinstance(first, Forest) or (isinstance(first, (list, tuple)) and isinstance(first[0], Forest)):
        return _from_memory(reading, items)
    if isinstance(first, Mapping):
        return _from_rows(reading, items, read_records, RECORDS)
    for item in items:
        if not isinstance(item, (str, os.PathLike)):
            raise InputError(f"paths: got {item!r}; expected the name of a file, or a data frame")
    return _read_parts(reading, [Part(tuple(items))])


def _zero(reading: Reading) -> float | None:
    """What missing features of lists count as."""
    return None if reading.missing is None else 0.0


def _from_rows(reading: Reading, source: Any, reader: Callable[[Any, RowCollector], None], what: str) -> Dataset:
    """The dataset of hypotheses from memory, which is read like a file."""
    _check_for_memory(reading, what, "missing", "on_error", "add", "features", "dtype", *FOR_RANKINGS, *COLUMNS)
    collector = _collector(reading)
    reader(source, collector)
    return _of_collector(reading, collector, [Provenance(what, what)])


def _from_memory(reading: Reading, source: Any) -> Dataset:
    """The dataset of forests as they are, or of lists, perhaps with further features."""
    if isinstance(source, Dataset):
        _check_for_memory(reading, "a Dataset", "features")
        return add_builtin_features(source, reading.features)
    _check_for_memory(reading, "forests", "features")
    return add_builtin_features(from_forests([source] if isinstance(source, Forest) else source), reading.features)


def read_parts(reading: Reading, parts: Sequence[Part]) -> Dataset:
    """The dataset of all parts, which is that of one file with all their sentences."""
    with _memory_told():
        return _read_parts(reading, parts)


def _read_parts(reading: Reading, parts: Sequence[Part]) -> Dataset:
    finder = Finder(reading.format, _columns(reading), check_threads(reading.threads))
    found = [finder.find(path, part.first) for part in parts for path in part.paths]
    files, left_out = [file for some, _ in found for file in some], [name for _, names in found for name in names]
    if not files and not left_out:
        raise InputError("no file has any content")
    with _guesses_told(reading, files):
        return _read_found(reading, files, left_out)


@contextmanager
def _guesses_told(reading: Reading, files: Sequence[FoundFile]) -> Iterator[None]:
    """Add the format that was guessed to an error at the start of a file: another one may be meant."""
    try:
        yield
    except OptionError:
        raise
    except InputError as error:
        for file in files if reading.format is None else ():
            if re.match(re.escape(file.source.name) + r"[^:]*:( |1: |byte )(?!.*--ids)", str(error)):
                error.args = (f"{error} (read as {file.format}, by its content; --format names another format)",)
                break
        raise


def _read_found(reading: Reading, files: Sequence[FoundFile], left_out: Sequence[str]) -> Dataset:
    """The dataset of all files, in their formats."""
    if not any(file.has_forests for file in files):
        runs = any(file.format == "trec" for file in files)
        refused = [name for name in FOR_FORESTS if not (runs and name == "negate")]
        _refuse(reading, refused, "is for forests, and these are lists; leave it out")
        return _read_lists(reading, files)
    _check_for_forests(reading)
    return _as_type(add_builtin_features(_read_forests(reading, files, left_out), reading.features), reading.dtype)


# Lists.


def _read_lists(reading: Reading, files: Sequence[FoundFile]) -> Dataset:
    """The dataset of all lists at once: the lists of a sentence are joined."""
    provenance = [Provenance(file.source.name, file.format) for file in files]
    for file in files:
        if file.format not in WITH_COLUMNS:
            names = (name for name in COLUMNS if name != "ignore")  # which suits all lists
            _refuse(reading, names, f"is for tables and JSON lines, and this is {file.format}; leave it out")
    if any(file.format in RANKING_FORMATS for file in files):
        found = _without_ignored(reading, _read_rankings(reading, files))
        return _as_type(add_builtin_features(found, reading.features), reading.dtype)
    if any(file.format == "packed" for file in files):
        _check_no_rankings(reading)
        return add_builtin_features(_without_ignored(reading, _open_packed(reading, files)), reading.features)
    formats = {file.format for file in files}
    if "moses" not in formats:
        return _of_collector(reading, _collected(reading, files), provenance)
    if len(formats) > 1:
        raise InputError(f"the files are in different formats ({', '.join(sorted(formats))})")
    problems = Problems(reading.on_error)
    moses = MosesReader(problems=problems, missing=_zero(reading), dtype=np.dtype(reading.dtype))
    for file in files:
        moses.first = file.first
        moses.read(file.source)
    return _lists(reading, moses.rows(), provenance, problems)


def _of_collector(reading: Reading, collector: RowCollector, provenance: Sequence[Provenance]) -> Dataset:
    """The dataset of what was collected: documents of queries, or hypotheses."""
    documents = collector.documents
    if not isinstance(documents, DocumentCollector):
        return _lists(reading, collector.rows(), provenance, collector.problems)
    if len(collector):
        where = ", ".join(origin.file for origin in provenance)
        raise InputError(f"{where}: lists and documents of queries together; expected one kind")
    _refuse(reading, ("add",), "is for other lists; give the scores as a further column")
    found = documents.lists(_normalisation(reading, "none"), provenance)
    return _as_type(add_builtin_features(found, reading.features), reading.dtype)


def _normalisation(reading: Reading, usual: str) -> Normalisation:
    """What becomes of the scores of rankers."""
    return Normalisation.of(reading.normalise or usual, reading.missing, reading.window)


def _check_no_rankings(reading: Reading) -> None:
    """Refuse what is for the scores of rankers alone."""
    _refuse(reading, FOR_RANKINGS, "is for scores of rankers: runs, LETOR, tables of queries and documents")
    if reading.missing not in (None, 0.0):
        raise OptionError(
            "missing", f"{reading.missing} is for scores of rankers; expected 0 (fill in other values before)"
        )


def _lists(reading: Reading, rows: Rows, provenance: Sequence[Provenance], problems: Problems) -> Dataset:
    """The dataset of rows, with the further features of the options."""
    _check_no_rankings(reading)
    if not len(rows.ids):
        where = ", ".join(origin.file for origin in provenance)
        raise InputError(f"{where}: no candidate lists{told_of(problems.skipped)}")
    columns = [(name, read_column(path, name, rows)) for path, name in reading.add]
    dtype = np.dtype(reading.dtype)
    lists = to_dataset(rows, columns=columns, dtype=dtype, skipped=problems.skipped, provenance=provenance)
    if not all(origin.format in (*WITH_COLUMNS, FRAME, RECORDS) for origin in provenance):
        lists = _without_ignored(reading, lists)
    return add_builtin_features(lists, reading.features)


def _without_ignored(reading: Reading, lists: Dataset) -> Dataset:
    """The lists of a format without columns, without the features that are to be ignored."""
    columns = _columns(reading)
    if not columns.ignore:
        return lists
    columns.check_patterns(lists.provenance[0].file, lists.feature_names)
    return lists.with_features([name for name in lists.feature_names if columns.role(name) != "ignored"])


def _read_rankings(reading: Reading, files: Sequence[FoundFile]) -> Dataset:
    """The dataset of documents that rankers scored: of runs, one for each ranker, or of one file with all."""
    _refuse(reading, ("add",), "is for other lists; give the scores as a further run")
    formats, problems = sorted({file.format for file in files}), Problems(reading.on_error)
    if formats == ["trec"]:
        return read_runs([file.source for file in files], _normalisation(reading, "minmax"), reading.negate, problems)
    if len(files) > 1:
        raise InputError(f"{files[1].source.name}: expected runs alone, or one LETOR file (got {', '.join(formats)})")
    _refuse(reading, ("negate",), "is for forests and runs; leave it out")
    return read_letor(files[0].source, _normalisation(reading, "none"), problems)


def _open_packed(reading: Reading, files: Sequence[FoundFile]) -> Dataset:
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


def _collected(reading: Reading, files: Sequence[FoundFile]) -> RowCollector:
    """What all files have, taken by one collector."""
    collector = _collector(reading)
    for first, part in groupby(files, key=lambda file: file.first):
        collector.first = first
        some = list(part)
        beams = [file.source for file in some if file.format == "nemo"]
        if beams:  # the manifest among them tells of the tables
            read_nemo(beams, collector)
        for file in some:
            if file.format != "nemo":
                reader(file.format)(file.source, collector)
    return collector


# Forests, and lists among them.


def _read_forests(reading: Reading, files: Sequence[FoundFile], left_out: Sequence[str]) -> Dataset:
    options = _forest_options(reading)
    alone = [(file.format, file.first) for file in files] == [("packed", 0)]
    if alone and options == ForestOptions():
        return open_packed(files[0].source)
    names = SentenceNames(reading.ids)
    vocabulary = Vocabulary()
    pieces: list[Piece] = []
    models: list[Mapping[str, float] | None] = []
    notes: dict[str, list[str]] = {}
    have_forests = [file.has_forests for file in files]
    list_files = [file for file, has_forests in zip(files, have_forests, strict=True) if not has_forests]
    lists: Dataset | None = None
    forest_files = [(file.source, file.format) for file in compress(files, have_forests)]
    threads = check_threads(reading.threads)
    read_files = iter(read_forest_files(forest_files, options, vocabulary, threads=threads))
    for file, has_forests in zip(files, have_forests, strict=True):
        if has_forests:
            forests = next(read_files)
            for number, forest in enumerate(forests):
                models.append(_model(file.format, forest))
                for text, example in forest.notes.items():
                    notes.setdefault(text, []).append(f"{example} in {file.source.name}")
                sentence = names.sentence(file, forest, len(forests))
                member = member_of(file, forest.name or (f"{number}" if len(forests) > 1 else None))
                pieces.append(Piece(sentence, forest.forest, member))
        elif lists is None:  # all lists at once: the lists of a sentence are joined
            lists = _read_lists(Reading(missing=_zero(reading)), list_files)
            pieces += pieces_of(lists, vocabulary)
    if not pieces:
        raise InputError(f"{', '.join(file.source.name for file in files)}: no forests")
    for text, places in notes.items():
        others = f", and {len(places) - 1:,} more" if len(places) > 1 else ""
        warnings.warn(f"{text} ({places[0]}{others})", Note, stacklevel=2)
    dataset = joined(
        pieces, lists=lists, ids_by=names.kind, left_out=left_out,
        provenance=[Provenance(file.source.name, file.format) for file in files],
        threads=threads,
    )  # fmt: skip
    if options.negate is None and lists is None:  # with other signs the weights of the decoder do not fit
        dataset = replace(dataset, model=_common_model(models))
    if isinstance(options.negate, frozenset):
        for name in sorted(options.negate):
            if name not in dataset.feature_names:
                raise OptionError("negate", str(unknown_name("feature", name, dataset.feature_names)))
    return dataset if names.listed is None else replace(dataset, listed=len(names.listed))


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


# What the options of reading mean to readers.


def _refuse(reading: Reading, options: Iterable[str], reason: str) -> None:
    for name in options:
        if name in reading.given:
            raise OptionError(name, reason)


def _check_for_forests(reading: Reading) -> None:
    """Refuse options for lists."""
    _refuse(reading, FOR_LISTS, "is for lists; forests are read as they are, whole or not at all")
    for name in reading.features:
        if name not in FOREST_FEATURES:
            raise OptionError("features", f"{name} is for lists; forests take {', '.join(FOREST_FEATURES)}")


def _check_for_memory(reading: Reading, what: str, *names: str) -> None:
    """Refuse all options but these for ``what``, which comes from memory and no file."""
    _refuse(
        reading,
        (name for name in reading.given if name not in (*names, "threads")),
        f"is for files, and this is {what}",
    )


def _columns(reading: Reading) -> Columns:
    """The columns with a meaning of their own."""
    return Columns(
        id=reading.id_column,
        text=reading.text_column,
        ref=tuple(reading.ref_column),
        source=reading.source_column,
        ignore=tuple(reading.ignore),
        ranked=any(name in reading.given for name in FOR_RANKINGS),
    )


def _collector(reading: Reading) -> RowCollector:
    """A collector of hypotheses for readers of lists."""
    return RowCollector(Problems(reading.on_error), missing=_zero(reading), columns=_columns(reading))


def _forest_options(reading: Reading) -> ForestOptions:
    """The options for readers of forests."""
    negate = reading.negate
    return ForestOptions(
        negate=negate if negate is None or isinstance(negate, bool) else frozenset(negate),
        drop=None if reading.drop is None else frozenset(reading.drop),
        symbols=reading.symbols,
    )


@contextmanager
def _memory_told() -> Iterator[None]:
    """Turn a lack of memory into an InputError."""
    try:
        yield
    except MemoryError:
        raise InputError("out of memory while reading; use a part of the data, more memory, or float32") from None
