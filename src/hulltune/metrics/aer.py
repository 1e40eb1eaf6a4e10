"""Alignment error rate over word alignments with sure and possible links (Och & Ney 2003)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import ClassVar

import numpy as np

from hulltune.arrays import Floats
from hulltune.errors import InputError
from hulltune.metrics.base import ByOutput, Metric, PreparedMetric, References, Statistics
from hulltune.metrics.bounds import Ratio
from hulltune.metrics.checks import (
    VERSION,
    check_number,
    checked_references,
    checked_statistics,
    ratio,
    signature,
)

Link = tuple[int, int]

_LINK = re.compile(r"(\d+)([-p?:])(\d+)", re.ASCII)


def parse_alignment(text: str, *, offset: int = 0, where: str = "alignment") -> tuple[set[Link], set[Link]]:
    """The sure links of ``text`` and all its links, counted from 0.

    ``i-j`` is sure; ``ipj``, ``i?j`` and ``i:j`` are possible. A sure link is possible too. ``offset`` is the
    number of the first word in the text.
    """
    sure: set[Link] = set()
    links: set[Link] = set()
    for item in text.split():
        match = _LINK.fullmatch(item)
        if match is None:
            raise InputError(f"{where}: {item!r} is not a link; expected i-j (sure) or ipj, i?j, i:j (possible)")
        link = (int(match[1]) - offset, int(match[3]) - offset)
        if min(link) < 0:
            raise InputError(
                f"{where}: link {item!r} counts from 0, but the offset says that words count from {offset}"
            )
        links.add(link)
        if match[2] == "-":
            sure.add(link)
    return sure, links


@dataclass(frozen=True, kw_only=True)
class Aer(Metric):
    """1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|) for output links A, sure links S and possible links P ⊇ S.

    ``reference_offset`` and ``output_offset`` say which number the first word has. In an output, sure and
    possible links count alike. The rate is 0 if neither side has a link.
    """

    name: ClassVar[str] = "aer"
    version = VERSION
    higher_is_better = False
    columns = ("sure_matches", "possible_matches", "links", "sure_links")

    reference_offset: int = 0
    output_offset: int = 0

    def __post_init__(self) -> None:
        for option in ("reference_offset", "output_offset"):
            check_number("aer", option, getattr(self, option), low=0, high=1)

    @property
    def signature(self) -> str:
        """Name, offsets and version."""
        return signature("aer", asdict(self))

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedMetric:
        """Parse the gold alignments: one for each sentence."""
        groups = checked_references("aer", references, sources, at_most=1)
        gold = [
            parse_alignment(group[0], offset=self.reference_offset, where=f"aer: reference of sentence {number}")
            for number, group in enumerate(groups)
        ]

        def row(sentence: int, output: str) -> tuple[int, ...]:
            where = f"aer: output for sentence {sentence}"
            links = parse_alignment(output, offset=self.output_offset, where=where)[1]
            sure, possible = gold[sentence]
            return len(links & sure), len(links & possible), len(links), len(sure)

        return ByOutput(row, sentences=len(gold), columns=len(self.columns))

    def score(self, statistics: Statistics) -> Floats:
        """The error rate, between 0 and 1."""
        counts = checked_statistics(statistics, self)
        matched = counts[..., 0] + counts[..., 1]
        return 1.0 - ratio(matched, counts[..., 2] + counts[..., 3], empty=1.0)

    @property
    def as_ratio(self) -> Ratio:
        """The links that do not match, divided by all links of both sides."""
        return Ratio(np.array([-1.0, -1.0, 1.0, 1.0]), np.array([0.0, 0.0, 1.0, 1.0]))
