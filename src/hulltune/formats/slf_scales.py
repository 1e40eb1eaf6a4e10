"""The scales in the header of an SLF file: the weights of the decoder that wrote it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from hulltune.formats.numbers import plain_number

SCALES = {
    "acoustic": ("acscale", "1"),
    "language": ("lmscale", "1"),
    "ngram": ("ngscale", "1"),
    "pronunciation": ("prscale", "1"),
    "duration": ("duscale", "0"),
    "words": ("wdpenalty", "0"),
} | {f"x{number}": (f"x{number}scale", "0") for number in range(1, 10)}
"""The field of each feature that has one, and what it is where it is left out (HTK, and SRILM for its own fields)."""


def header_weights(header: Mapping[str, str], names: Sequence[str]) -> dict[str, float] | None:
    """A weight for each feature. None where a field is no number, where scores are probabilities (base=0), and where a
    feature has a name of its own, by which no field scales it: then the header does not tell.
    """
    if not SCALES.keys() >= set(names):
        return None
    scales = {name: plain_number(header.get(key, usual)) for name, (key, usual) in SCALES.items()}
    base = plain_number(header.get("base", "2.71828182845905"))
    if not base or any(scale is None or not math.isfinite(scale) for scale in scales.values()):
        return None
    weights = {name: float(scales[name] or 0.0) for name in names}
    if "words" in weights and abs(base - math.e) >= 1e-3:  # scores are converted to natural logarithms, too
        weights["words"] *= math.log(base)
    return weights
