"""Upper envelopes of forests along a line: the exact line search of one sentence, or of a corpus."""

from hulltune.lines.compute import decode, envelope, envelopes
from hulltune.lines.result import CorpusEnvelopes, Envelope, Segment
from hulltune.lines.scoring import EdgeScorer

__all__ = ["CorpusEnvelopes", "EdgeScorer", "Envelope", "Segment", "decode", "envelope", "envelopes"]
