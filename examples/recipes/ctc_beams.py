"""From the beams of pyctcdecode to weights and back: the best alpha and beta, without decoding for each pair.

Run: python examples/recipes/ctc_beams.py      (pip install pyctcdecode kenlm; see docs/recipes/speech.md)

The "acoustic model" is made up: noisy log-probabilities of characters, two frames each. The language model is a bigram
model that is written here as an ARPA file. Everything else is pyctcdecode as it is used with real models.
"""

from __future__ import annotations

import importlib.util
import itertools
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

LABELS = [" ", *"abcdefghijklmnopqrstuvwxyz", ""]
"""The characters, and the blank of CTC."""
WORDS = ["the", "a", "cat", "dog", "man", "hat", "sat", "ran", "saw", "on", "to", "by", "mat", "tree", "hill"]
PATTERNS = ("the {} sat on the {}", "a {} ran to the {}", "the {} saw a {} by the {}")
NOUNS = ("cat", "dog", "man", "hat", "mat", "tree", "hill")
FIRST = {"alpha": 0.5, "beta": 1.0}
"""The weights of the first decoding: neither must be 0, so that the scores can be taken apart."""


def sentences(count: int, seed: int) -> list[str]:
    """Made-up sentences."""
    rng = np.random.default_rng(seed)
    return [str(rng.choice(PATTERNS)).format(*rng.choice(NOUNS, 3)) for _ in range(count)]


def write_arpa(path: Path, texts: list[str]) -> None:
    """Write a bigram model of the texts: relative frequencies, with half a count for all other words together."""
    pairs: dict[tuple[str, str], int] = {}
    for text in texts:
        tokens = ["<s>", *text.split(), "</s>"]
        for pair in itertools.pairwise(tokens):
            pairs[pair] = pairs.get(pair, 0) + 1
    totals: dict[str, int] = {}
    for (first, _), count in pairs.items():
        totals[first] = totals.get(first, 0) + count
    backoff = {word: np.log10(0.5 / (total + 0.5)) for word, total in totals.items()}
    alone = np.log10(1 / (len(WORDS) + 2))
    lines = ["\\data\\", f"ngram 1={len(WORDS) + 3}", f"ngram 2={len(pairs)}", "", "\\1-grams:"]
    lines += [f"-99\t<s>\t{backoff['<s>']:.6f}", f"{alone:.6f}\t</s>", "-4\t<unk>"]
    lines += [f"{alone:.6f}\t{word}\t{backoff.get(word, 0.0):.6f}" for word in WORDS]
    lines += ["", "\\2-grams:"]
    lines += [f"{np.log10(count / (totals[a] + 0.5)):.6f}\t{a} {b}" for (a, b), count in pairs.items()]
    path.write_text("\n".join([*lines, "", "\\end\\", ""]))


def log_probabilities(text: str, rng: np.random.Generator, noise: float = 1.7) -> np.ndarray[Any, Any]:
    """The output of an acoustic model for a text: a frame for each character, and a blank after it."""
    logits = rng.normal(0.0, noise, (2 * len(text), len(LABELS)))
    logits[np.arange(0, 2 * len(text), 2), [LABELS.index(letter) for letter in text]] += 4.0
    logits[1::2, -1] += 9.0
    return np.asarray(logits - np.log(np.exp(logits).sum(axis=1, keepdims=True)))


def candidates(beams: list[Any], *, alpha: float, beta: float) -> list[dict[str, Any]]:
    """Candidates with the features am, lm and words, from what ``decode_beams`` returns.

    The last two numbers of a beam are the score of the logits, and that score plus alpha · LM + beta · words.
    """
    found = []
    for beam in beams:
        text, am, total = beam[0], float(beam[-2]), float(beam[-1])
        words = len(text.split())
        lm = (total - am - beta * words) / alpha
        found.append({"text": text, "features": {"am": am, "lm": lm, "words": words}, "score": total})
    return found


def main() -> int:
    """Decode with first weights, tune, put the weights back, and decode again."""
    if importlib.util.find_spec("pyctcdecode") is None or importlib.util.find_spec("kenlm") is None:
        print("skipped: pyctcdecode or kenlm is not installed (pip install pyctcdecode kenlm)")
        return 0
    from pyctcdecode import build_ctcdecoder

    import hulltune

    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "lm.arpa"
        write_arpa(model, sentences(200, seed=1))
        decoder = build_ctcdecoder(LABELS, kenlm_model_path=str(model), unigrams=WORDS, **FIRST)
    references = sentences(60, seed=2)
    rng = np.random.default_rng(3)
    outputs = [log_probabilities(text, rng) for text in references]

    def decode() -> list[list[Any]]:
        return [decoder.decode_beams(output, beam_width=100, prune_history=False) for output in outputs]

    lists = [
        {"refs": [text], "candidates": candidates(beams, **FIRST)}
        for text, beams in zip(references, decode(), strict=True)
    ]
    result = hulltune.tune(
        lists, metric="wer", start={"am": 1.0, "lm": FIRST["alpha"], "words": FIRST["beta"]},
        search=hulltune.Certified(gap=0), constraints=hulltune.Constraints(fix={"am": 1.0}),
    )  # fmt: skip
    print(f"beams of alpha {FIRST['alpha']}, beta {FIRST['beta']}: WER {result.baseline:.4f} → {result.score:.4f}")
    decoder.reset_params(alpha=result.weights["lm"], beta=result.weights["words"])
    again = [{"candidates": [{"text": found[0][0], "features": {"one": 1.0}}]} for found in decode()]
    wer = hulltune.score(again, {"one": 1.0}, references, metric="wer")
    print(f"decoded again with alpha {result.weights['lm']:.3f}, beta {result.weights['words']:.3f}: WER {wer:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
