"""BLEU (Papineni et al., 2002), equal to sacrebleu's: statistics as integers, score to the last bit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from hulltune.arrays import Floats, Int64s
from hulltune.data.vocabulary import Texts
from hulltune.errors import InputError
from hulltune.kernels.surfaces.constants import BLEU
from hulltune.metrics import _text
from hulltune.metrics.base import References, Rough, Statistics
from hulltune.metrics.bounds import SAFETY, LinearBound, LossBound, Ranges, log_above, log_below, row_products
from hulltune.metrics.checks import VERSION, check_choice, check_flags, signature

if TYPE_CHECKING:
    from hulltune.kernels.metrics.ngrams import Tries

# The defaults of Chen and Cherry (2014), as in sacrebleu; methods without a value have none.
SMOOTHING: dict[str, float | None] = {"none": None, "floor": 0.1, "add-k": 1.0, "exp": None}

TOKENIZERS: dict[str, str] = {
    "none": "",
    "char": "",
    "13a": "",
    "intl": "regex",
    "zh": "",
    "ja-mecab": "sacrebleu[ja]",
    "ko-mecab": "sacrebleu[ko]",
    "spm": "sentencepiece",
    "flores101": "sentencepiece",
    "flores200": "sentencepiece",
    "spBLEU-1K": "sentencepiece",
}
"""sacrebleu's tokenisers, each with the package that it needs besides sacrebleu."""

# Markup and line breaks that mteval-v13a rewrites before it splits; rare, so sacrebleu does these.
_REWRITTEN_BY_13A = ("\n", "<skipped>", "&quot;", "&amp;", "&lt;", "&gt;")

Tokenizer = Callable[[str], str]


@dataclass(frozen=True, kw_only=True)
class Bleu(_text.TextMetric):
    """BLEU over clipped n-gram matches; option names and meanings are sacrebleu's.

    The statistics are the output's length, the length of the closest reference (the shorter of two equally
    close), and for each order the matches and the n-grams of the output. Matches are clipped by the largest
    count in any one reference. The score is 0 to 100.
    """

    name: ClassVar[str] = "bleu"
    version = VERSION
    higher_is_better = True

    max_ngram_order: int = 4
    smooth_method: str = "exp"
    smooth_value: float | None = None
    lowercase: bool = False
    effective_order: bool = False
    tokenize: str = "13a"
    variable_references: bool = False
    columns: tuple[str, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_flags(self)
        _text.check_order("max_ngram_order", self.max_ngram_order, least=1, most=100)
        check_choice(self.name, "smooth_method", self.smooth_method, SMOOTHING)
        check_choice(self.name, "tokenize", self.tokenize, TOKENIZERS)
        if self.smooth_value is not None:
            if SMOOTHING[self.smooth_method] is None:
                raise InputError(
                    f"smooth_value is {self.smooth_value!r}, but smooth_method {self.smooth_method!r} "
                    "has no value; leave it out, or choose 'floor' or 'add-k'"
                )
            if not 0 <= self.smooth_value < float("inf"):
                raise InputError(f"smooth_value is {self.smooth_value!r}, expected a number of at least 0")
        orders = range(1, self.max_ngram_order + 1)
        columns = (
            "length",
            "reference_length",
            *(f"matches_{n}" for n in orders),
            *(f"ngrams_{n}" for n in orders),
        )
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "threaded", self.tokenize in ("none", "char", "13a"))
        if not self.threaded:
            sacrebleu_tokenizer(self.tokenize)  # reports a missing package now, not in the middle of a run

    @property
    def signature(self) -> str:
        """Name, parameters, tokenisation and version, in sacrebleu's spelling."""
        value = self._smooth_value
        return signature(
            self.name,
            {
                "order": self.max_ngram_order,
                "case": "lc" if self.lowercase else "mixed",
                "eff": self.effective_order,
                "tok": self._tokenizer_signature,
                "smooth": self.smooth_method if value is None else f"{self.smooth_method}[{_text.spelled(value)}]",
            },
        )

    def prepare(self, references: References, sources: Sequence[str] | None = None) -> PreparedBleu:
        """Tokenise the references, O(tokens); the n-grams of a sentence are gathered when it is first asked for."""
        return PreparedBleu(self, references)

    def _scores(self, rows: Statistics) -> Floats:
        """BLEU of each row, 0 to 100."""
        from hulltune.kernels.metrics.scores import ADD_K, EXPONENTIAL, FLOOR, NO_SMOOTHING, bleu_scores

        method = {"none": NO_SMOOTHING, "floor": FLOOR, "add-k": ADD_K, "exp": EXPONENTIAL}[self.smooth_method]
        return bleu_scores(rows, self.max_ngram_order, method, self._smooth_value or 0.0, self.effective_order)

    @property
    def least_loss(self) -> float:
        """Minus the greatest BLEU: 100, or more with a large value of smoothing."""
        return -100.0 * max(1.0, self._smooth_value or 0.0) * (1.0 + SAFETY)

    def loss_bound(self, ranges: Ranges) -> LossBound:
        """A lower bound of minus BLEU by a line above log BLEU: minus that line is the function to minimise."""
        slopes, offsets = self._line_above_log(ranges)
        margin = SAFETY * (row_products(np.abs(slopes), ranges.sizes) + np.abs(offsets) + 1.0)
        best = self.least_loss

        def proven(minimiser: Floats) -> Floats:
            logs = row_products(slopes, minimiser) + offsets + margin
            losses: Floats = -100.0 * np.exp(np.minimum(logs, 50.0)) * (1.0 + SAFETY)
            return np.maximum(losses, best)

        def level(loss: float) -> Floats:
            if not loss < 0.0:
                return np.full(len(ranges), np.inf)
            wanted = float(np.log(-loss / 100.0))
            return offsets + 2.0 * margin - wanted + SAFETY * abs(wanted)

        return LossBound(-slopes, proven, level, np.zeros(len(ranges), dtype=bool))

    def linear_bound(self, ranges: Ranges) -> LinearBound:
        """A lower bound of minus BLEU: exp of a line above log BLEU is convex, so its chord is above it."""
        slopes, offsets = self._line_above_log(ranges)
        up, down = np.maximum(slopes, 0.0), np.minimum(slopes, 0.0)
        least = row_products(up, ranges.low) + row_products(down, ranges.high) + offsets
        most = row_products(up, ranges.high) + row_products(down, ranges.low) + offsets
        margin = SAFETY * (row_products(np.abs(slopes), ranges.sizes) + np.abs(offsets) + 1.0)
        least, most = least - margin, np.minimum(most + margin, 700.0)
        rise = np.where(most > least, (np.exp(most) - np.exp(least)) / np.maximum(most - least, margin), 0.0)
        best = 100.0 * max(1.0, self._smooth_value or 0.0) * (1.0 + SAFETY)
        loose = ~(100.0 * np.exp(most) <= 1e6 * best)
        chords = -100.0 * rise[:, None] * slopes
        chords[loose] = 0.0
        starts = -100.0 * (np.exp(least) + rise * (offsets + margin - least)) * (1.0 + SAFETY)
        return LinearBound(chords, np.where(loose, -best, starts))

    def _line_above_log(self, ranges: Ranges) -> tuple[Floats, Floats]:
        """Slopes and offsets of lines above log(BLEU / 100) = Σ (log matches − log n-grams) / order + brevity.

        log matches is concave, so its tangent is above it; it touches so far right that at 0 matches it is still
        above the log of any smoothed count. −log n-grams is convex, so its chord is above it. BLEU is 0 without
        n-grams of some order.
        """
        order = self.max_ngram_order
        slopes, offsets = self._brevity_above(ranges)
        value = self._smooth_value or 0.0
        least = np.e * max(0.6, value if self.smooth_method == "floor" else 0.0)
        for n in range(order):
            matches, ngrams = 2 + n, 2 + order + n
            added = value if self.smooth_method == "add-k" and n > 0 else 0.0
            slope, offset = log_above(np.maximum(ranges.at[:, matches] + added, least))
            slopes[:, matches] += slope / order
            offsets += (offset + slope * added) / order
            low = np.maximum(ranges.low[:, ngrams] + added, added if added > 0.0 else 1.0)
            slope, offset = log_below(low, np.maximum(ranges.high[:, ngrams] + added, low))
            slopes[:, ngrams] -= slope / order
            offsets -= (offset + slope * added) / order
        if self.effective_order:  # orders without n-grams are left out: only the best score is a bound
            unknown = np.any(ranges.low[:, 2 + order :] < 1.0, axis=1)
            slopes[unknown], offsets[unknown] = 0.0, np.log(max(1.0, value))
        return slopes, offsets

    def _brevity_above(self, ranges: Ranges) -> tuple[Floats, Floats]:
        """Slopes and offsets of lines above the log of the brevity penalty, min(0, 1 − r / c).

        The line is 0, or 1 minus a lower bound of r / c, whichever is lower at ``ranges.at``. The lower bound is
        McCormick's, of the product of r and the tangent of 1 / c.
        """
        length = np.maximum(ranges.at[:, 0], 1.0)
        r_low, least = ranges.low[:, 1], 1.0 / np.maximum(ranges.high[:, 0], length)
        slopes, offsets = np.zeros_like(ranges.low), 1.0 - r_low * (2.0 / length - least)
        slopes[:, 0], slopes[:, 1] = r_low / length**2, -least
        at = row_products(slopes, ranges.at) + offsets
        long_enough = ~(at < 0.0)
        slopes[long_enough], offsets[long_enough] = 0.0, 0.0
        return slopes, offsets

    @property
    def rough(self) -> Rough:
        """BLEU to the power of its order, which takes no logarithms; of smoothing by added counts nothing is known."""
        return Rough() if self.smooth_method == "add-k" else Rough(BLEU)

    @property
    def _smooth_value(self) -> float | None:
        return SMOOTHING[self.smooth_method] if self.smooth_value is None else float(self.smooth_value)

    @property
    def _tokenizer_signature(self) -> str:
        if self.tokenize in ("none", "char", "13a"):
            return self.tokenize
        from importlib import metadata

        name: str = sacrebleu_tokenizer(self.tokenize).signature()  # type: ignore[attr-defined]  # untyped there
        return f"{name}[sacrebleu-{metadata.version('sacrebleu')}]"

    def tokenised(self, lines: Sequence[str]) -> tuple[Sequence[str], _text.Modes]:
        """The lines, tokenised by sacrebleu where the kernel cannot, and the kernel's way to split each of them."""
        from hulltune.kernels.metrics import tokens

        if self.lowercase:
            lines = list(map(str.lower, lines))
        if self.tokenize == "none":
            return lines, tokens.SPACES
        if self.tokenize == "char":
            return lines, tokens.CHARACTERS
        if self.tokenize != "13a":
            tokenize = sacrebleu_tokenizer(self.tokenize)
            return [tokenize(line.rstrip()) for line in lines], tokens.SPACES
        return self._tokenised_13a(lines)

    @staticmethod
    def _tokenised_13a(lines: Sequence[str]) -> tuple[Sequence[str], _text.Modes]:
        from hulltune.kernels.metrics import tokens

        if isinstance(lines, Texts) and lines.codes is not None:
            codes, _ = lines.codes
            is_plain = not any((codes == ord(sign)).any() for sign in "\n<&")
        else:
            text = "\0".join(lines)
            is_plain = not any(sign in text for sign in "\n<&")  # a character is found ten times faster than a string
        if is_plain:
            return lines, tokens.MTEVAL_13A
        modes = np.full(len(lines), tokens.MTEVAL_13A, np.int8)
        done = list(lines)
        for k, line in enumerate(lines):
            if any(mark in line for mark in _REWRITTEN_BY_13A):
                done[k] = sacrebleu_tokenizer("13a")(line.rstrip())
                modes[k] = tokens.SPACES
        return done, modes


class PreparedBleu(_text.PreparedText):
    """BLEU bound to references: an output costs O(order * tokens) and no Python object per token."""

    def __init__(self, metric: Bleu, references: References) -> None:
        from hulltune.kernels.metrics.ngrams import Tries

        super().__init__(metric, references)
        self._metric = metric
        self._vocabulary = _text.ReferenceVocabulary(*metric.tokenised(self._lines))
        tokenised = self._vocabulary.references
        self._lengths = tokenised.lengths
        self._tries: Tries = Tries(tokenised, self._offsets, metric.max_ngram_order)

    def _statistics(self, sentences: Int64s, outputs: Sequence[str]) -> Int64s:
        from hulltune.kernels.metrics.ngrams import bleu_statistics

        tokenised = self._vocabulary.encode(*self._metric.tokenised(outputs))
        return bleu_statistics(
            tokenised, sentences, self._tries.of(sentences), self._lengths, self._offsets, self._metric.max_ngram_order
        )


def sacrebleu_tokenizer(name: str) -> Tokenizer:
    """sacrebleu's own tokeniser; raises an error that says what to install where it is missing."""
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError:
        raise InputError(f"tokenize={name!r} needs sacrebleu: pip install sacrebleu") from None
    if name not in BLEU.TOKENIZERS:
        raise InputError(f"tokenize={name!r} needs a newer sacrebleu: pip install --upgrade sacrebleu")
    if name not in _loaded:
        try:
            _loaded[name] = BLEU(tokenize=name).tokenizer
        except (ImportError, RuntimeError, OSError) as error:
            needs = TOKENIZERS[name] or "sacrebleu"
            reason = " ".join(str(error).split())
            raise InputError(f"tokenize={name!r} cannot be used here: {reason} (pip install '{needs}')") from error
    return _loaded[name]


_loaded: dict[str, Tokenizer] = {}
