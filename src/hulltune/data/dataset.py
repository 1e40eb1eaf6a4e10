"""The hypotheses of many sentences and everything known about them; every reader returns a Dataset."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Floats, Int32s, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.features import gather_rows, over_names, with_columns
from hulltune.data.matching import by_name
from hulltune.errors import InputError, unknown_name
from hulltune.wording import counted, listed

SentenceId: TypeAlias = int | str
References: TypeAlias = tuple[tuple[str, ...], ...]
"""The references of each sentence."""

_COMPRESSED = (".gz", ".bz2", ".xz", ".zst")


@dataclass(frozen=True)
class Provenance:
    """A file that was read, and the format it was read as."""

    file: str
    format: str


@dataclass(frozen=True)
class Skipped:
    """A piece of input that was left out, where it was, and why."""

    file: str
    line: int
    reason: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}: {self.reason}"


@dataclass(frozen=True)
class Member:
    """The origin of a forest: the file, its name there, if it has one, and whether it came as a list."""

    file: str
    name: str | None = None
    is_list: bool = False


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """Sentences with a forest each, over one set of features; an n-best list is the forest of one node.

    A hypothesis of a list is an edge. Its label is one token, the whole text (nothing where the text is empty), so
    that it comes out as it was, spaces and all; equal texts of a list share one token. No two hypotheses of a list
    have the same text and the same features. Where a sentence has several forests, its forest is their union under a
    common root. Ids that are numbers are in increasing order; other ids are in the order of their first appearance.

    >>> from hulltune import Dataset
    >>> from hulltune.simulate import simulated_task
    >>> task = simulated_task(sentences=20, candidates=10)
    >>> isinstance(task.lists, Dataset), len(task.lists), task.lists.is_lists
    (True, 20, True)
    >>> task.lists.take([0, 1])
    Dataset(lists: 2 sentences, 20 hypotheses, 6 features)
    >>> task.lists.text(0) in task.lists.texts()
    True
    """

    ids: Sequence[SentenceId]
    corpus: Corpus
    """The ``edge_ids`` of a list are the places of its hypotheses as written, from 0: duplicates leave gaps."""
    first_choices: Int64s
    """Per sentence the edge (from 0 within the sentence) that a list puts first itself; −1 for forests, which have no
    order, and for empty lists.
    """
    references: References | None = None
    sources: tuple[str | None, ...] | None = None
    scores: Floats | None = None
    """The total score of each edge, where lists carry one."""
    copies: Int32s | None = None
    """The number of times each hypothesis stood in its list as written; None for forests."""
    model: Mapping[str, float] | None = None
    """The weights by which the decoder ranked, where the files have them."""
    members: tuple[tuple[Member, ...], ...] | None = None
    """Per sentence, the forests that its forest is the union of; None where all sentences came as lists."""
    ids_by: str = "order"
    """The source of the ids of forests: "order", "name" or "name1" (see names.IDS)."""
    listed: int | None = None
    """The number of lines of the file of names, where the ids come from one."""
    omitted: Mapping[str, int] = field(default_factory=dict)
    """Per feature, the number of hypotheses of lists (as written) that leave it out; it is 0 there."""
    unnamed: tuple[int, ...] = ()
    """The ids that no file names: numbers between others, with empty lists."""
    skipped: tuple[Skipped, ...] = ()
    left_out: tuple[str, ...] = ()
    """The files in folders of forests that hold no forest."""
    provenance: tuple[Provenance, ...] = ()
    qualities: Mapping[str, Floats] = field(default_factory=dict)
    """Per name, a number of each hypothesis of lists that is no feature: what a metric such as ``mean:column=correct``
    reads. NaN where a hypothesis has none.
    """

    normalisation: str | None = None
    """What was done to the scores of rankers, such as "minmax missing=0"; weights belong to it."""

    def __len__(self) -> int:
        return len(self.corpus)

    @property
    def shape(self) -> tuple[int]:
        """The number of sentences. With it, and an index, scikit-learn can split a dataset."""
        return (len(self),)

    def __getitem__(self, sentences: Any) -> Dataset:
        """Some sentences as a dataset: by number, slice, or an array of numbers or of booleans."""
        if isinstance(sentences, tuple) and len(sentences) == 2 and sentences[1] is Ellipsis:
            sentences = sentences[0]
        return self.take(np.atleast_1d(np.arange(len(self))[sentences]))

    def __repr__(self) -> str:
        corpus, nodes = self.corpus, np.diff(self.corpus.node_offsets)
        if np.all(nodes == 1):
            size = f"lists: {counted(len(self), 'sentence')}, {counted(corpus.edges, 'hypothesis')}"
        else:
            flat = np.diff(corpus.tail_offsets).max(initial=0) <= 1
            filled = np.diff(corpus.sentence_edges) > 0
            kind = "mixed" if np.any(nodes[filled] == 1) else "lattices" if flat else "hypergraphs"
            graph = f"{counted(corpus.nodes, 'node')}, {counted(corpus.edges, 'edge')}"
            size = f"{kind}: {counted(len(self), 'sentence')}, {graph}"
        return f"Dataset({size}, {counted(len(self.feature_names), 'feature')})"

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The names of the weights."""
        return self.corpus.feature_names

    @property
    def is_lists(self) -> bool:
        """Whether all sentences came as lists, whose lines carry the sentence ids."""
        return self.members is None

    @property
    def has_lists(self) -> bool:
        """Whether the forest of any sentence contains an n-best list."""
        return self.members is None or any(member.is_list for members in self.members for member in members)

    @cached_property
    def names(self) -> Sequence[SentenceId]:
        """The names of the sentences in all answers: the ids of lists; of forests, the utterances that their files tell
        or else the names of the files, and where these are not all different, the ids.
        """
        if self.members is None:
            return self.ids
        for named in (_name_inside, _name_of_file) if self.provenance else (_name_inside,):
            found = [{named(member) for member in members} for members in self.members]
            names = [name for each in found if len(each) == 1 for name in each if name is not None]
            if len(set(names)) == len(found) and all(name.isprintable() and "|||" not in name for name in names):
                return self.ids if names == list(map(str, self.ids)) else names
        return self.ids

    @cached_property
    def empty_ids(self) -> tuple[SentenceId, ...]:
        """The sentences without hypotheses."""
        return tuple(self.ids[int(i)] for i in np.flatnonzero(np.diff(self.corpus.sentence_edges) == 0))

    @cached_property
    def duplicates(self) -> int:
        """The number of hypotheses left out because their list has the same text with the same features already."""
        return 0 if self.copies is None else int(self.copies.sum()) - len(self.copies)

    def members_of(self, sentence: int) -> tuple[Member, ...]:
        """The forests that the forest of a sentence is the union of."""
        if self.members is not None:
            return self.members[sentence]
        where = self.provenance[0].file if self.provenance else "memory"
        return (Member(where, str(self.ids[sentence]), is_list=True),)

    def text(self, edge: int) -> str:
        """The text of one hypothesis of a list, by its edge in the whole corpus."""
        if not 0 <= edge < self.corpus.edges:
            raise IndexError(f"edge {edge} of {self.corpus.edges}")
        return self.texts(np.array([edge]))[0]

    def texts(self, edges: Int64s | None = None) -> list[str]:
        """The texts of these edges, by default of all: a list's hypotheses, or the words of an edge of a forest.

        O(size of the texts returned).
        """
        corpus = self.corpus
        edges = np.arange(corpus.edges) if edges is None else edges
        offsets, places = gather_rows(corpus.label_offsets, edges)
        labels = corpus.labels[places]
        sizes = np.diff(offsets)
        if len(labels) == len(edges) and sizes.max(initial=0) <= 1 and labels.min(initial=0) >= 0:
            return list(corpus.vocabulary.words(labels))
        words = corpus.vocabulary.words(labels[labels >= 0])
        ends = np.concatenate([[0], np.cumsum(labels >= 0)])[offsets].tolist()
        return [" ".join(words[begin:end]) for begin, end in pairwise(ends)]

    def check_normalisation(self, other: str | None, where: str) -> None:
        """Refuse weights of scores that were normalised in another way; of these nothing is known if it is None."""
        if self.normalisation is not None and other is not None and other != self.normalisation:
            raise InputError(
                f"{where}: weights of scores normalised by {other!r}, and these are by {self.normalisation!r}; read "
                "them in the same way (--normalise, --missing, --window)"
            )

    # Other features.

    def with_features(self, names: Sequence[str], *, may_lack: Collection[str] | None = ()) -> Dataset:
        """The dataset with exactly these features in this order: matched by name, never by place.

        A feature that the dataset lacks is an error, unless it is one of ``may_lack``: then it is 0. With None any
        feature may be lacking, but not all. Further features of the dataset have no weight, and are left out.
        """
        names = tuple(names)
        if self.feature_names == names:
            return self
        known = set(self.feature_names)
        if may_lack is None:
            if names and not set(names) & known:
                raise InputError(
                    f"the forests have none of the features {listed(names, 8)}; they have "
                    f"{listed(self.feature_names, 8)}"
                )
        else:
            lacking = [name for name in names if name not in known and name not in may_lack]
            if lacking:
                where = listed(origin.file for origin in self.provenance) or "lists"
                raise InputError(f"{where}: no feature {lacking[0]!r}, which the lists that are tuned on have")
        features = over_names(self.corpus.features, self.feature_names, names, stay_dense=self.is_lists)
        return replace(self, corpus=replace(self.corpus, features=features, feature_names=names))

    def with_more_features(self, names: Sequence[str], columns: Sequence[NDArray[Any]]) -> Dataset:
        """The dataset with further features, a column of values each; the features are copied once."""
        check_new_names(self.feature_names, names)
        features = with_columns(self.corpus.features, columns)
        feature_names = (*self.feature_names, *names)
        return replace(self, corpus=replace(self.corpus, features=features, feature_names=feature_names))

    def with_qualities(self, names: Iterable[str]) -> Dataset:
        """The dataset with these columns as qualities: features of such a name are none any more.

        "score" may also be the total score of lists, which then chooses nothing: the first hypothesis is the own
        choice of a list. A hypothesis without a number is an error. O(edges × features) if a feature moves.
        """
        names = tuple(dict.fromkeys(names))
        if not names:
            return self
        if not self.is_lists:
            raise InputError(f"column {names[0]!r}: belongs to the candidates of lists, and these are forests")
        qualities, changed = dict(self.qualities), self
        for name in names:
            if name in self.feature_names and name not in qualities:
                self._check_none_omitted(name)
                place = np.array([self.feature_names.index(name)])
                qualities[name] = self.corpus.features.some_columns(place)[0].astype(np.float64)
            elif name == "score" and self.scores is not None and name not in qualities:
                qualities[name] = self.scores
                choices = own_first_choices(self.corpus.sentence_edges, None)
                changed = replace(changed, scores=None, first_choices=choices)
            elif name not in qualities:
                raise unknown_name("column of the candidates", name, (*self.feature_names, *qualities))
            self._check_complete(name, qualities[name])
        kept = tuple(name for name in self.feature_names if name not in names)
        if kept != self.feature_names:
            changed = changed.with_features(kept)
        omitted = {name: count for name, count in self.omitted.items() if name not in names}
        return replace(changed, qualities=qualities, omitted=omitted)

    def _check_none_omitted(self, name: str) -> None:
        if self.omitted.get(name):
            raise InputError(
                f"column {name!r}: {counted(self.omitted[name], 'candidate')} without it; expected a number for each"
            )

    def _check_complete(self, name: str, values: Floats) -> None:
        lacking = np.flatnonzero(~np.isfinite(values))
        if len(lacking):
            edge = int(lacking[0])
            sentence = int(np.searchsorted(self.corpus.sentence_edges, edge, side="right")) - 1
            raise InputError(
                f"column {name!r}: the candidate {self.text(edge)[:60]!r} of sentence {self.ids[sentence]!r} has no "
                "number there; expected one for each candidate"
            )

    # Some sentences, and references.

    def take(self, sentences: Int64s) -> Dataset:
        """Some sentences in the order given; linear in their size."""
        sentences = np.asarray(sentences, dtype=np.int64)
        numbers = sentences.tolist()
        _, edges = gather_rows(self.corpus.sentence_edges, sentences)
        same = len(edges) == self.corpus.edges and bool(np.all(sentences[1:] > sentences[:-1]))
        return replace(
            self,
            ids=tuple(self.ids[number] for number in numbers),
            corpus=self.corpus.take(sentences),
            first_choices=self.first_choices[sentences],
            references=None if self.references is None else tuple(self.references[number] for number in numbers),
            sources=None if self.sources is None else tuple(self.sources[number] for number in numbers),
            scores=self.scores if same or self.scores is None else self.scores[edges],
            copies=self.copies if same or self.copies is None else self.copies[edges],
            members=None if self.members is None else tuple(self.members[number] for number in numbers),
            qualities=self.qualities if same else {name: values[edges] for name, values in self.qualities.items()},
        )

    def matched(self, references: References | None = None, *, needed: bool = True) -> Dataset:
        """The sentences with references: ``references[i]`` belong to line i; None stands for the dataset's own.

        References that have names, or lines that begin with the names of the sentences (a ``text`` file of Kaldi), are
        matched by name, and those of other sentences left out.

        If references are not ``needed`` and the dataset has none, every sentence gets none, and lists without
        hypotheses are left out: nothing can be said about them.

        Lists alone: line n belongs to id n, or to the n-th id where ids are names. An id that the lists lack counts as
        an empty output; only a sentence without both hypotheses and references is left out. Forests, and lists among
        them: lines without a forest of that number are left out, as the forests cover only part of the text. Forests
        by order: one line each. There may be further lines only where the numbers in the file names agree with the
        order.
        """
        aligned, texts = self, references
        named = None if references is None else by_name(self, references)
        if named is not None:
            texts = named[0]
        elif texts is None:
            texts = self._own_references() if needed else self.references or ((),) * len(self)
        elif self.is_lists:
            aligned = self.aligned_to(len(texts))
        elif self._are_by_order():
            further = len(texts) - len(self)
            if further < 0 or (further > 0 and not self._named_by_order()):
                raise self._other_count(len(texts))
            texts = texts[: len(self)]
        else:
            texts = tuple(texts[number] for number in self._lines(len(texts)))
        aligned = replace(aligned, references=texts)
        if aligned.is_lists and not all(texts):
            known = np.array([bool(each) for each in texts]) | (np.diff(aligned.corpus.sentence_edges) > 0)
            aligned = aligned.take(np.flatnonzero(known))
        if not aligned.corpus.edges:
            what = "lists: no sentence has a candidate" if self.is_lists else "forests: no sentence has a derivation"
            raise InputError(f"{what}, so there is nothing to choose from")
        return aligned

    def aligned_to(self, count: int) -> Dataset:
        """The dataset of ``count`` sentences in the order of the reference lines; one that is not here is empty.

        Where ids are names, or forests are by order, there must be ``count`` sentences already. O(nodes + count).
        """
        if self.is_lists and isinstance(self.ids, range) and len(self) == count:
            return self
        if self._are_by_order():
            if len(self) != count:
                raise self._other_count(count)
            return self
        places = self._lines(count)
        if len(self) == count and not self.is_lists:
            return self
        first_choices = np.full(count, -1, dtype=np.int64)
        first_choices[places] = self.first_choices
        return replace(
            self,
            ids=range(count),
            corpus=self.corpus.spread(places, count),
            first_choices=first_choices,
            references=spread(self.references, places.tolist(), count, ()),
            sources=spread(self.sources, places.tolist(), count, None),
            members=spread(self.members, places.tolist(), count, ()),
        )

    def _own_references(self) -> References:
        """The references that the sentences carry: one each, except lists without hypotheses."""
        if self.references is None:
            what = "lists" if self.is_lists else "forests"
            hint = (
                " (--ref FILE), or, where candidates have a quality, --metric mean:column=NAME" if self.is_lists else ""
            )
            raise InputError(f"no references: the {what} carry none, and no reference file was given; give one{hint}")
        if not all(self.references) and self.normalisation is None:  # queries may lack judgements
            filled = np.diff(self.corpus.sentence_edges) > 0
            for name, texts, has_some in zip(self.ids, self.references, filled.tolist(), strict=True):
                if not texts and self.is_lists and has_some:
                    raise InputError(f"sentence {name!r} has hypotheses but no reference")
                if not texts and not self.is_lists:
                    raise InputError(f"sentence {name!r} has no reference; give a reference file")
        return self.references

    def _are_by_order(self) -> bool:
        """Whether sentences find their lines in a reference file by their order alone."""
        if self.is_lists:
            return bool(len(self.ids)) and isinstance(self.ids[0], str)  # once one id is a name, all are
        return any(isinstance(name, str) for name in self.ids) or (self.ids_by == "order" and not self.has_lists)

    def _named_by_order(self) -> bool:
        """Whether the files of the sentences are numbered in their order, from 0 or from 1.

        A single file with the number 1 does not count: it may be the second of many.
        """
        numbers = [number_in_name(members[0].file) if members else None for members in self.members or ()]
        return any(numbers == list(range(first, first + len(self))) for first in (0, 1) if len(self) > first)

    def reference_lines(self, count: int) -> Int64s:
        """The line of each sentence in a file of ``count`` references."""
        return np.arange(len(self)) if self._are_by_order() else self._lines(count)

    def _lines(self, count: int) -> Int64s:
        """The reference line of each sentence; there are ``count`` lines."""
        if self.listed is not None and self.listed != count:
            raise InputError(
                f"the file of names has {counted(self.listed, 'line')}, but the references have {count}; "
                "expected line i of one to name line i of the other"
            )
        numbers = np.arange(len(self)) if isinstance(self.ids, range) else np.array(self.ids, dtype=np.int64)
        last = int(numbers.max(initial=-1))
        if last < count:
            return numbers
        if self.is_lists:
            hint = "; ids count from 0, these start at 1" if last == count and self._starts_at_one() else ""
            raise InputError(
                f"the lists go up to sentence id {last}, but there are only {count} reference lines; "
                f"expected at least {last + 1}, line i for id i{hint}"
            )
        hint = "; --ids name1 counts from 1" if self.ids_by == "name" and last == count else ""
        raise InputError(
            f"the forests go up to sentence {last}, but the references have only {counted(count, 'line')}; "
            f"expected at least {last + 1}, counted from 0{hint}"
        )

    def _starts_at_one(self) -> bool:
        filled = np.flatnonzero(np.diff(self.corpus.sentence_edges))
        return bool(len(filled)) and self.ids[int(filled[0])] == 1

    def _other_count(self, count: int) -> InputError:
        if self.is_lists:
            return InputError(
                f"the lists have {counted(len(self), 'sentence')}, but the references {counted(count, 'line')}; "
                "expected one line a sentence, in the order in which the lists first name them"
            )
        return InputError(
            f"{counted(len(self), 'sentence')}, but {counted(count, 'reference line')}; "
            "expected a line for each, in order ("
            "--ids name takes the line from the number in the name of a file, --ids name1 counts from 1)"
        )


def own_first_choices(offsets: Int64s, scores: Floats | None) -> Int64s:
    """The first choice of each list: the hypothesis (from 0) with the highest score, or −1 for an empty list.

    The first of equal scores wins; without scores it is the first hypothesis.
    """
    sizes = np.diff(offsets)
    choices = np.where(sizes > 0, 0, -1).astype(np.int64)
    if scores is not None and len(scores):
        starts, filled = offsets[:-1][sizes > 0], sizes[sizes > 0]
        best = np.flatnonzero(scores == np.repeat(np.maximum.reduceat(scores, starts), filled))
        choices[sizes > 0] = best[np.searchsorted(best, starts)] - starts
    return choices


def number_in_name(file: str) -> int | None:
    """The last number in the name of a file, without its suffixes."""
    return last_number(_stem(file))


def _stem(file: str) -> str:
    """The name of a file without its suffixes."""
    stem = os.path.basename(file)
    for suffixes in (_COMPRESSED, None):
        base, suffix = os.path.splitext(stem)
        stem = base if suffixes is None or suffix in suffixes else stem
    return stem


def _name_inside(member: Member) -> str | None:
    return member.name and member.name.strip()


def _name_of_file(member: Member) -> str | None:
    return _stem(member.file)


def last_number(name: str) -> int | None:
    """The last number in a name."""
    numbers = re.findall(r"[0-9]+", name)
    return int(numbers[-1]) if numbers else None


def check_new_names(old: Sequence[str], new: Sequence[str]) -> None:
    """Refuse a new feature name that exists already or is given twice."""
    seen = set(old)
    for name in new:
        if name in seen:
            raise InputError(f"the lists already have a feature {name!r}; choose another name for the new one")
        seen.add(name)


def spread(values: Sequence[Any] | None, places: Iterable[int], count: int, default: Any) -> Any:
    """``count`` values: these at their places, and the default elsewhere; None stays None."""
    if values is None:
        return None
    all_values = [default] * count
    for place, value in zip(places, values, strict=True):
        all_values[place] = value
    return tuple(all_values)
