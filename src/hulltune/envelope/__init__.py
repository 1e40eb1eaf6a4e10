"""Upper envelopes of forests along a line: the exact line search of one sentence, or of a corpus."""

from hulltune.envelope.compute import decode, envelope, envelopes
from hulltune.envelope.result import CorpusEnvelopes, Envelope, Segment
from hulltune.envelope.scoring import EdgeScorer

__all__ = ["CorpusEnvelopes", "EdgeScorer", "Envelope", "Segment", "decode", "envelope", "envelopes"]
