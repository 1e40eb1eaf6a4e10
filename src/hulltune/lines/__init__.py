"""Upper envelopes of forests along a line (the exact line search of a sentence or a corpus) and best derivations."""

from hulltune.lines.compute import decode, envelope, envelopes
from hulltune.lines.derivations import Derivation, DerivationLists, kbest, sample
from hulltune.lines.result import CorpusEnvelopes, Envelope, Segment
from hulltune.lines.scoring import EdgeScorer

__all__ = [
    "CorpusEnvelopes",
    "Derivation",
    "DerivationLists",
    "EdgeScorer",
    "Envelope",
    "Segment",
    "decode",
    "envelope",
    "envelopes",
    "kbest",
    "sample",
]
