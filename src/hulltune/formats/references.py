"""References by sentence: plain text files with a line a sentence, TRN and STM files of sclite, judgements of documents
by query (qrels), or texts.
"""

from __future__ import annotations

import os
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, TypeAlias

from hulltune.data.dataset import References
from hulltune.data.matching import NamedReferences
from hulltune.errors import InputError, Note
from hulltune.formats.streams import Problems, numbered_lines
from hulltune.formats.trec import Judged, is_json, is_qrels, judgements, numbers_in_json, numbers_of
from hulltune.formats.trec import as_references as judgements_as_references
from hulltune.wording import counted

__all__ = ["References", "ReferencesLike", "as_references", "read_references"]

ReferencesLike: TypeAlias = (
    str
    | os.PathLike[str]
    | Sequence[str]
    | Sequence[os.PathLike[str]]
    | Sequence[Sequence[str]]
    | Mapping[Any, str | Sequence[str]]
    | Mapping[str, Mapping[str, float]]
    | None
)
"""The name of a file (several as Path objects); a text or a sequence of texts for each sentence, in order or by id; the
grade of each judged document of each query.
"""

_TRN = re.compile(r"(.*?)\s*\(([^()\s]+)\)\s*")
_STM = re.compile(
    r"(?P<file>\S+)\s+(?P<channel>\S+)\s+(?P<speaker>\S+)\s+(?P<begin>[0-9]*\.?[0-9]+)\s+(?P<end>[0-9]*\.?[0-9]+)"
    r"(?:\s+(?P<label><[^<>]*>))?(?:\s+(?P<text>.*))?\s*"
)
_ALTERNATIVES = re.compile(r"\{\s*([^{}]*?)\s*\}")
_OPTIONAL = re.compile(r"\(([^()\s]+)\)")
_IGNORED = "ignore_time_segment_in_scoring"
_STAMPS = ((100, 7), (100, 6), (1000, 7), (1000, 8), (100, 0), (1000, 0))
"""Units in a second and digits of the times in names of utterances, as scripts of Kaldi and ESPnet write them."""


def read_references(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> References:
    """The references of every sentence, one from each file. A blank line is an empty reference; linear.

    A file whose lines all end with an id in parentheses (TRN), or all begin with file, channel, speaker and times
    (STM), has its references by id. Where lines begin with ids (Kaldi), Dataset.matched sees it from the data.

    >>> from pathlib import Path
    >>> from hulltune import read_references
    >>> _ = Path("dev.en").write_text("a house")
    >>> _ = Path("dev.en2").write_text("the house")
    >>> read_references(["dev.en", "dev.en2"])
    (('a house', 'the house'),)
    """
    files = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not files:
        raise InputError("references: expected at least one file, got none")
    columns = [[text.strip() for _, text in numbered_lines(file, Problems())] for file in files]
    for file, column in zip(files, columns, strict=True):
        if not column:
            raise InputError(f"{os.fspath(file)}: the file is empty; expected a reference a line")
    named = [_named(os.fspath(file), column) for file, column in zip(files, columns, strict=True)]
    if any(each is not None for each in named):
        return _joined(files, named)
    for file, column in zip(files, columns, strict=True):
        if len(column) != len(columns[0]):
            raise InputError(
                f"{os.fspath(file)} has {counted(len(column), 'line')}, but {os.fspath(files[0])} has "
                f"{len(columns[0])}; expected as many, line i of each for sentence i"
            )
    return tuple(zip(*columns, strict=True))


def _joined(files: Sequence[Any], named: Sequence[NamedReferences | None]) -> NamedReferences:
    """The references of several files by id; every id needs one in each file."""
    first = named[0]
    for file, each in zip(files, named, strict=True):
        if each is None or first is None:
            raise InputError(
                f"{os.fspath(file)}: has {'no' if each is None else 'references by'} ids, unlike "
                f"{os.fspath(files[1 if first is None else 0])}; expected all files of references in one format"
            )
    assert first is not None
    if len(named) == 1:
        return first
    tables = [next(each.namings()) for each in named if each is not None]
    for file, table in zip(files, tables, strict=True):
        odd = set(table) ^ set(tables[0])
        if odd:
            raise InputError(
                f"{os.fspath(file)}: {min(odd)!r} has a reference in one of this file and {os.fspath(files[0])}; "
                "expected one in each"
            )
    together = {name: tuple(text for table in tables for text in table[name]) for name in tables[0]}
    return NamedReferences(together.values(), lambda: iter([together]), os.fspath(files[0]))


def _named(where: str, lines: Sequence[str]) -> NamedReferences | None:
    """The references of a TRN or STM file; None for other lines."""
    filled = [line for line in lines if line and not line.startswith(";;")]
    if not filled:
        return None
    if is_qrels(filled):
        return _judgements(judgements(where, lines), where)
    if is_json("\n".join(filled[:3])):
        return _judgements(numbers_in_json(where, "\n".join(lines)), where)
    trn = [_TRN.fullmatch(line) for line in filled]
    if all(trn):
        names = [found[2] for found in trn if found is not None]
        if len(set(names)) < len(names):
            twice = Counter(names).most_common(1)[0][0]
            raise InputError(f"{where}: two references for {twice!r}; expected one, and others in further files")
        texts = _plain_texts(where, [found[1] for found in trn if found is not None])
        by_id = {name: (text,) for name, text in zip(names, texts, strict=True)}
        return NamedReferences(by_id.values(), lambda: iter([by_id, _without_speakers(by_id)]), where)
    stm = [_STM.fullmatch(line) for line in filled]
    if all(stm) and any(found is not None and (found["label"] or "." in found["begin"]) for found in stm):
        return _stm(where, [found for found in stm if found is not None])
    return None


def _judgements(judged: Judged, where: str) -> NamedReferences:
    """Judgements as references by query, which a query may lack."""
    texts = judgements_as_references(judged)
    return NamedReferences(texts.values(), lambda: iter([texts]), where, judge=True)


def _without_speakers(by_id: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The references by id, or by its end after a "-": before it is the speaker, in TRN files of ESPnet."""
    found: dict[str, tuple[str, ...] | None] = {}
    for name, texts in by_id.items():
        while "-" in name:
            name = name.partition("-")[2]
            found[name] = None if name in found else texts
    return {name: texts for name, texts in found.items() if texts is not None} | dict(by_id)


@dataclass(frozen=True)
class _Segment:
    """An utterance of an STM file."""

    file: str
    channel: str
    speaker: str
    begin: float
    end: float
    text: str

    def bases(self) -> tuple[str, ...]:
        """The first parts of names that scripts make up for the utterance."""
        return (
            self.file,
            self.speaker,
            *(f"{one}{mark}{other}" for mark in "-_" for one, other in (
                (self.speaker, self.file), (self.file, self.speaker), (self.file, self.channel),
            )),
        )  # fmt: skip


def _stm(where: str, lines: Sequence[re.Match[str]]) -> NamedReferences:
    kept = [line for line in lines if (line["text"] or "").strip().lower() != _IGNORED]
    if not kept:
        raise InputError(f"{where}: no utterance of this STM file is to be scored")
    texts = _plain_texts(where, [line["text"] or "" for line in kept])
    segments = [
        _Segment(line["file"], line["channel"], line["speaker"], float(line["begin"]), float(line["end"]), text)
        for line, text in zip(kept, texts, strict=True)
    ]

    def namings() -> Iterator[dict[str, tuple[str, ...]]]:
        bases = list(zip(*(each.bases() for each in segments), strict=True))
        for names in bases:
            yield _of_recordings(segments, names)
        for (unit, digits), mark, names in product(_STAMPS, "-_", bases):
            yield {
                mark.join([name, *(f"{round(time * unit):0{digits}d}" for time in (each.begin, each.end))]): (
                    each.text,
                )
                for name, each in zip(names, segments, strict=True)
            }

    return NamedReferences([(each.text,) for each in segments], namings, where)


def _of_recordings(segments: Sequence[_Segment], names: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """The text of each recording: that of its utterances in the order of time."""
    texts: dict[str, list[str]] = {}
    for name, each in sorted(zip(names, segments, strict=True), key=lambda pair: pair[1].begin):
        texts.setdefault(name, []).append(each.text)
    return {name: (" ".join(filter(None, each)),) for name, each in texts.items()}


def _plain_texts(where: str, texts: Sequence[str]) -> list[str]:
    """Texts without the marks of sclite: of alternatives the first, and words that may be missing as words."""
    found = []
    marked = 0
    for text in texts:
        plain = _ALTERNATIVES.sub(lambda part: part[1].split("/")[0], text)
        plain = _OPTIONAL.sub(r"\1", plain)
        marked += plain != text
        found.append(" ".join(word for word in plain.split() if word != "@") if plain != text else text)
    if marked:
        warnings.warn(
            f"{where}: {counted(marked, 'reference')} with alternatives {{a / b}} or words (uh) that may be missing: "
            "the first alternative and all words are taken",
            Note,
            stacklevel=2,
        )
    return found


def as_references(references: ReferencesLike) -> References | None:
    """References by sentence. A list of strings is texts; several files are given as Path objects.

    >>> from hulltune.formats import as_references
    >>> as_references(["a house", "it is cold"])
    (('a house',), ('it is cold',))
    >>> as_references([["a house", "the house"], ["it is cold", "cold"]])
    (('a house', 'the house'), ('it is cold', 'cold'))
    """
    if references is None:
        return None
    if isinstance(references, (str, os.PathLike)):
        return read_references(references)
    judged = numbers_of(references, "references")
    if judged is not None:
        return _judgements(judged, "references")
    if isinstance(references, Mapping):
        texts = _checked([(each,) if isinstance(each, str) else each for each in references.values()])
        by_id = dict(zip(map(str, references), texts, strict=True))
        return NamedReferences(texts, lambda: iter([by_id]), "references")
    items: list[Any] = list(references)
    if not items:
        raise InputError("references: expected a text for each sentence, got an empty sequence")
    if all(isinstance(item, os.PathLike) for item in items):
        return read_references(items)
    if all(isinstance(item, str) for item in items):
        if len(items) < 10 and all(os.path.isfile(item) for item in items):
            raise InputError(
                "references: a list of strings is a text for each sentence, but these are names of files; "
                "give several files as pathlib.Path objects"
            )
        return tuple((text,) for text in items)
    return _checked(items)


def _checked(items: Sequence[Any]) -> References:
    for sentence, texts in enumerate(items):
        if isinstance(texts, str) or not (isinstance(texts, Iterable) and all(isinstance(text, str) for text in texts)):
            raise InputError(f"references: sentence {sentence} has {texts!r}; expected a sequence of texts")
    return tuple(tuple(texts) for texts in items)
