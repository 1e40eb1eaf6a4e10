"""Forests and lattices from files in any format: one file, several, a pattern, or a folder."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from hulltune.data.vocabulary import Vocabulary
from hulltune.errors import InputError, unknown_name
from hulltune.formats.candidates import CandidateLists, Provenance
from hulltune.formats.forest_files import ForestOptions, NamedForest, Path
from hulltune.formats.forest_formats import ENOUGH, SUMMED, forest_reader, sniff_forest
from hulltune.formats.forest_set import ForestSet, Member, Piece, number_in_name, pieces_of_lists
from hulltune.formats.packed_forests import open_forests
from hulltune.formats.read import read_lists
from hulltune.formats.sniff import check_format, sniff
from hulltune.formats.streams import head, open_bytes, without_suffix
from hulltune.names import FOREST_FORMATS, IDS

AMBIGUOUS = "openfst-text"
"""The format of forests that other columns of numbers look like."""


def read_forests(
    paths: Path | Iterable[Path],
    *,
    format: str | None = None,  # noqa: A002  # the word that users type
    ids: str = "order",
    negate: bool | Iterable[str] | None = None,
    drop: Iterable[str] | None = None,
    symbols: Path | None = None,
    missing: float | None = None,
) -> ForestSet:
    """The forests of one or several files, patterns (``*.slf``) or folders, linear in their size.

    Files are read in the order given; those of a pattern or folder in natural order (2 before 10). In a folder, files
    that are neither forests nor Moses lists are left out, as are folders in it, and listed in ``left_out``.

    ``ids`` says which sentence a forest is of: "order" its position among all forests, "name" the number in its file's
    name (the last one there; of a file with several forests, that in each one's own name), "name1" that number counted
    from 1; or it is a file with a name in each line (its first word), those of the reference lines in turn. Forests of
    the same sentence are searched as their union. n-best lists among the files keep their own ids (a number
    that no file names is no sentence); ``missing`` is as for ``read_lists``.

    ``negate`` changes the sign of all features, of none, or of those named; ``drop`` names the words that are not
    output; ``symbols`` is a table of words. Where they are None the convention of the format holds (docs/formats.md).

    ``model`` of the result has the weights by which the decoder itself ranks, where all files tell the same: the scales
    in the header of SLF, or 1 where the format has nothing but the parts of one score (OpenFst, Kaldi, plain Moses).
    """
    listed = None
    if ids not in IDS:
        if not os.path.isfile(ids):
            raise unknown_name("way to count sentences (ids), and no file:", os.fspath(ids), IDS)
        listed = _listed_names(ids)
    options = ForestOptions(
        negate=negate if negate is None or isinstance(negate, bool) else frozenset(negate),
        drop=None if drop is None else frozenset(drop),
        symbols=symbols,
    )
    if symbols is not None and not os.path.exists(symbols):
        raise InputError(f"{os.fspath(symbols)}: no such file; expected a table of words (symbols)")
    files, left_out = forest_files(paths, format)
    if [name for _, name in files] == ["packed-forests"] and options == ForestOptions():
        return open_forests(files[0][0])
    vocabulary = Vocabulary()
    pieces: list[Piece] = []
    models: list[Mapping[str, float] | None] = []
    list_files = [file for file, name in files if name not in FOREST_FORMATS]
    lists: CandidateLists | None = None
    position = 0
    for file, name in files:
        if name in FOREST_FORMATS:
            forests = list(forest_reader(name)(file, options, vocabulary))
            for number, forest in enumerate(forests):
                if listed is not None:
                    sentence = _listed(file, forest, len(forests), listed, ids)
                else:
                    sentence = position if ids == "order" else _sentence(file, forest, len(forests), ids)
                position += 1
                models.append(_model(name, forest))
                pieces.append(Piece(sentence, forest.forest, Member(os.fspath(file), forest.name or f"{number}")))
        elif lists is None:  # all lists at once: those of a sentence are joined
            lists = read_lists(list_files, format=format, missing=missing)
            # What neither the lists nor the forests name is no sentence of theirs.
            unnamed = set(lists.unnamed)
            pieces += [piece for piece in pieces_of_lists(lists, vocabulary) if piece.sentence not in unnamed]
    if not pieces:
        raise InputError(f"{', '.join(os.fspath(file) for file, _ in files)}: no forests")
    found = ForestSet.from_pieces(
        pieces, lists=lists, ids_by=ids if listed is None else "name", left_out=left_out,
        provenance=[Provenance(os.fspath(file), name) for file, name in files],
    )  # fmt: skip
    if listed is not None:
        found = replace(found, listed=len(listed))
    if options.negate is None and lists is None:  # whoever changes signs has other weights in mind
        found = replace(found, model=_common_model(models))
    if isinstance(options.negate, frozenset):
        for name in sorted(options.negate):
            if name not in found.feature_names:
                raise unknown_name("feature in negate:", name, found.feature_names)
    return found


def _model(format_name: str, named: NamedForest) -> Mapping[str, float] | None:
    """The weights by which the decoder of a forest ranks: as its file says, or 1 for all parts of its score."""
    if named.model is None and set(named.forest.feature_names) == set(SUMMED.get(format_name, ())):
        return dict.fromkeys(named.forest.feature_names, 1.0)
    return named.model


def _common_model(models: Sequence[Mapping[str, float] | None]) -> Mapping[str, float] | None:
    """The weights that all forests agree on, if they do."""
    common: dict[str, float] = {}
    for model in models:
        if model is None or any(common.get(name, weight) != weight for name, weight in model.items()):
            return None
        common |= model
    return common if any(common.values()) else None


def has_forests(paths: Any, format_name: str | None = None) -> bool:
    """Whether any of these files, patterns or folders holds forests; what is no name of a file does not."""
    if isinstance(paths, (str, os.PathLike)):
        paths = [paths]
    if not isinstance(paths, Iterable) or not hasattr(paths, "__len__"):
        return False
    if not all(isinstance(path, (str, os.PathLike)) for path in paths):
        return False
    if format_name is not None:
        return format_name in FOREST_FORMATS
    return any(name in FOREST_FORMATS for path in paths for _, name in _expand(path, None)[0][:1])


def forest_files(paths: Path | Iterable[Path], format_name: str | None) -> tuple[list[tuple[Path, str]], list[str]]:
    """Every file to be read with its format, and files in folders that are left out."""
    given = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not given:
        raise InputError("paths: expected at least one file, got none")
    files: list[tuple[Path, str]] = []
    left_out: list[str] = []
    for path in given:
        found, others = _expand(path, None if format_name is None else check_format(format_name))
        files += found
        left_out += others
    return files, left_out


def _expand(path: Path, format_name: str | None) -> tuple[list[tuple[Path, str]], list[str]]:
    """The files that a name stands for, with their formats, and what was left out of a folder."""
    name = os.fspath(path)
    matching = matching_files(path)
    if matching != [path]:
        return [(match, format_name or sniff(match)) for match in matching], []
    kind = format_name or sniff(path)
    if not os.path.isdir(name) or kind not in FOREST_FORMATS:
        return [(path, kind)], []
    entries = sorted(FilePath(name).iterdir(), key=lambda entry: natural_key(entry.name))
    entries = [entry for entry in entries if not entry.name.startswith(".")]
    candidates = [entry for entry in entries if entry.is_file()]
    formats = [_sniff_in_folder(entry) if format_name is None else format_name for entry in candidates]
    if set(formats) - {None, AMBIGUOUS}:  # numbers in a file of references may look like arcs
        formats = [None if each == AMBIGUOUS else each for each in formats]
    suffixes = {without_suffix(entry).suffix for entry, each in zip(candidates, formats, strict=True) if each}
    files: list[tuple[Path, str]] = []
    left_out = [f"{entry}/" for entry in entries if entry.is_dir()]
    for entry, entry_format in zip(candidates, formats, strict=True):
        if entry_format is not None:
            files.append((entry, entry_format))
        elif without_suffix(entry).suffix in suffixes - {""}:
            raise InputError(
                f"{entry}: cannot tell the format, but its name ends like those of the forests beside it; if it is "
                "none, give the forests by a pattern"
            )
        else:
            left_out.append(os.fspath(entry))
    return files, left_out


def _sniff_in_folder(file: FilePath) -> str | None:
    """The format of a file beside forests: one of forests, or of lists that cannot be taken for anything else."""
    first = head(file, ENOUGH)
    found = sniff_forest(first)
    if found is None and b"|||" in first.split(b"\n", 1)[0]:
        return "moses"
    return found


def matching_files(path: Path) -> list[Path]:
    """The files that match a pattern, in natural order; what is no pattern stays as it is."""
    name = os.fspath(path)
    if not glob.has_magic(name) or os.path.exists(name):
        return [path]
    found: list[Path] = [*sorted((match for match in glob.glob(name) if os.path.isfile(match)), key=natural_key)]
    if not found:
        raise InputError(f"{name}: no file matches this pattern")
    return found


def natural_key(name: Path) -> list[tuple[bool, int, str]]:
    """Sorts names as people do: numbers in them by value."""
    parts = re.split(r"([0-9]+)", os.fspath(name))
    return [(part.isdigit(), int(part) if part.isdigit() else 0, part) for part in parts]


def _sentence(file: Path, forest: NamedForest, count: int, ids: str) -> int:
    """The number in a forest's name; see read_forests."""
    name = os.fspath(file)
    own = _last_number(forest.name or "")
    of_file = number_in_name(name)
    number = own if count > 1 or of_file is None else of_file
    if number is None:
        if count > 1:
            raise InputError(
                f"{name}: {count} forests, of which one has no number in its name ({forest.name!r}); use --ids order"
            )
        raise InputError(f"{name}: no number in the name of the file to tell its sentence by; use --ids order")
    if ids == "name1":
        if number == 0:
            raise InputError(f"{name}: sentence 0, but --ids name1 counts from 1; use --ids name")
        number -= 1
    return number


def _listed_names(path: Path) -> dict[str, int]:
    """The line of every name in a file: the first word of each line."""
    places: dict[str, int] = {}
    with open_bytes(path) as stream:
        for number, line in enumerate(stream.read().decode("utf-8", errors="replace").splitlines()):
            words = line.split()
            if not words:
                raise InputError(f"{os.fspath(path)}:{number + 1}: an empty line; expected the name of a forest")
            if words[0] in places:
                first = places[words[0]] + 1
                raise InputError(f"{os.fspath(path)}:{number + 1}: {words[0]!r} again, after line {first}")
            places[words[0]] = number
    return places


def _listed(file: Path, forest: NamedForest, count: int, places: dict[str, int], ids: str) -> int:
    """The line on which a forest's name stands: its own in its file, or that of its file."""
    stem = without_suffix(FilePath(file)).stem
    names = [forest.name] if count > 1 else [stem, FilePath(file).name, forest.name]
    place = next((places[name] for name in names if name in places), None)
    if place is None:
        called = forest.name if count > 1 else stem
        raise InputError(f"{os.fspath(file)}: {ids} has no line for {called!r}; expected the names of all forests")
    return place


def _last_number(name: str) -> int | None:
    numbers = re.findall(r"[0-9]+", name)
    return int(numbers[-1]) if numbers else None
