"""Time the text metrics against sacrebleu, rapidfuzz and jiwer, on the same outputs in the same run.

python -m benchmarks.metrics [--rounds 5] prints a table and writes benchmarks/results/metrics.json. One core,
one thread. The two sides take turns in every round and the best round of each counts. References are prepared
before the clock starts, on both sides; tokenising the outputs is inside it, and sacrebleu's caches of
tokenised lines are emptied before every round unless a row says "cached". Both sides are first checked to
agree.
"""

from __future__ import annotations

import gzip
import os
import platform
import random
import re
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import jiwer
import numpy as np
from numpy.typing import NDArray
from rapidfuzz.distance import Levenshtein
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from sacrebleu.tokenizers.tokenizer_re import TokenizerRegexp
from sacrebleu.tokenizers.tokenizer_ter import TercomTokenizer

from benchmarks.harness import finish, options_of, table, verdict
from hulltune.metrics.base import Metric
from hulltune.metrics.bleu import Bleu
from hulltune.metrics.chrf import ChrF, ChrFPlusPlus
from hulltune.metrics.ter import Ter
from hulltune.metrics.wer import Cer, Wer

HERE = Path(__file__).parent
DATA = HERE / "../../shared/data"
VECTORS = 100_000


@dataclass(frozen=True)
class Corpus:
    """Distinct outputs of some sentences, with one reference each."""

    name: str
    sentences: NDArray[np.int64]
    outputs: list[str]
    references: list[str]

    def thinned(self, most: int) -> Corpus:
        """About ``most`` of the outputs, from all sentences."""
        step = max(1, len(self.outputs) // most)
        return Corpus(self.name, self.sentences[::step], self.outputs[::step], self.references)


@dataclass(frozen=True)
class Result:
    """Seconds per item on both sides."""

    what: str
    data: str
    items: int
    baseline: str
    baseline_seconds: float
    seconds: float
    target: float | None

    @property
    def speedup(self) -> float:
        """The time of the baseline divided by ours."""
        return self.baseline_seconds / self.seconds


def real_corpus(name: str, sentences: int) -> Corpus | None:
    folder = DATA / name
    if not folder.is_dir():
        return None
    (path,) = folder.glob("nbest.*")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        found = dict.fromkeys(tuple(line.split(" ||| ")[:2]) for line in file)
    chosen = [(int(number), text) for number, text in found if int(number) < sentences]
    references = (folder / "refs.txt").read_text(encoding="utf-8").split("\n")[:sentences]
    return Corpus(name, np.array([number for number, _ in chosen]), [text for _, text in chosen], references)


def made_up_corpus(sentences: int, outputs: int) -> Corpus:
    """Sentences of 5 to 40 words with Zipf's frequencies, and outputs with a fifth of the words changed."""
    dice = random.Random(7)
    letters = "etaoinshrdlcumwfgypbvk"
    words = ["".join(dice.choices(letters, k=dice.randint(1, 10))) for _ in range(5000)] + [
        ",",
        ".",
        "3.5",
        "e-mail",
    ]
    weights = [1 / (k + 1) for k in range(len(words))]
    references = [dice.choices(words, weights, k=dice.randint(5, 40)) for _ in range(sentences)]
    made: dict[tuple[int, str], None] = {}
    for number, reference in enumerate(references):
        for _ in range(outputs):
            changed = [dice.choices(words, weights)[0] if dice.random() < 0.2 else word for word in reference]
            made[number, " ".join(changed)] = None
    return Corpus(
        "made up",
        np.array([number for number, _ in made]),
        [text for _, text in made],
        [" ".join(reference) for reference in references],
    )


def detokenised(corpus: Corpus) -> Corpus:
    """The line with punctuation joined to its word and first letters in upper case, like the output of a system."""

    def put_back(line: str) -> str:
        return re.sub(r" ([.,;:!?)])", r"\1", re.sub(r"([(]) ", r"\1", line[:1].upper() + line[1:]))

    return Corpus(
        f"{corpus.name}, detokenised",
        corpus.sentences,
        [put_back(line) for line in corpus.outputs],
        [put_back(line) for line in corpus.references],
    )


def translation_corpora() -> list[Corpus]:
    real = [corpus for name in ("fr_en", "de_en") if (corpus := real_corpus(name, 100))]
    return [*real, detokenised(real[-1])] if real else [made_up_corpus(100, 100)]


def forget_tokenised_lines() -> None:
    for tokenizer in (Tokenizer13a, TokenizerRegexp, TercomTokenizer):
        tokenizer.__call__.cache_clear()


def best_of(rounds: int, *sides: Callable[[], object], keep_caches: bool = False) -> list[float]:
    """The best time of each side in seconds; the sides take turns."""
    best = [float("inf")] * len(sides)
    for _ in range(rounds):
        for k, side in enumerate(sides):
            if not keep_caches:
                forget_tokenised_lines()
            start = time.perf_counter()
            side()
            best[k] = min(best[k], time.perf_counter() - start)
    return best


def compare_statistics(
    metric: Metric,
    theirs: Any,
    corpus: Corpus,
    target: float | None,
    rounds: int,
    *,
    keep_caches: bool = False,
) -> Result:
    prepared = metric.prepare([[reference] for reference in corpus.references])
    cache = theirs._cache_references([corpus.references])
    theirs._ref_cache = [cache[k] for k in corpus.sentences]

    def ours() -> Any:
        return prepared.statistics(corpus.sentences, corpus.outputs)

    def original() -> Any:
        return theirs._extract_corpus_statistics(corpus.outputs, None)

    assert ours().tolist() == original(), f"{metric.name} differs from sacrebleu on {corpus.name}"
    seconds, baseline = best_of(rounds, ours, original, keep_caches=keep_caches)
    count = len(corpus.outputs)
    what = f"{metric.name} statistics" + (f" ({metric.tokenize})" if isinstance(metric, Bleu) else "")
    name = "sacrebleu, cached" if keep_caches else "sacrebleu"
    return Result(what, corpus.name, count, name, baseline / count, seconds / count, target)


def compare_error_rates(corpus: Corpus, rounds: int) -> list[Result]:
    """Compare error rates: ours from raw text to the four counts, rapidfuzz from tokens that are split already."""
    references = [corpus.references[k] for k in corpus.sentences]
    words = [(reference.split(), output.split()) for reference, output in zip(references, corpus.outputs, strict=True)]
    lines = list(zip(references, corpus.outputs, strict=True))
    count = len(lines)
    results = []
    for metric, pairs, original in (
        (Wer(), words, jiwer.process_words),
        (Cer(), lines, jiwer.process_characters),
    ):
        prepared = metric.prepare([[reference] for reference in corpus.references])

        def ours(prepared: Any = prepared) -> Any:
            return prepared.statistics(corpus.sentences, corpus.outputs)

        def distances(pairs: Any = pairs) -> Any:
            return [Levenshtein.distance(a, b) for a, b in pairs]

        def opcodes(pairs: Any = pairs) -> Any:
            return [Levenshtein.opcodes(a, b) for a, b in pairs]

        def whole(original: Any = original) -> Any:
            return original(references, corpus.outputs)

        result = whole()
        expected = [result.hits, result.substitutions, result.deletions, result.insertions]
        assert ours().sum(axis=0).tolist() == expected, f"{metric.name} differs from jiwer"
        assert ours()[:, 1:].sum(axis=1).tolist() == distances()
        times = best_of(rounds, ours, distances, opcodes, whole)
        is_wer = metric.name == "wer"
        for name, seconds, target in (
            ("rapidfuzz distance", times[1], 1.0 if is_wer else None),
            ("rapidfuzz opcodes", times[2], 1.0 if is_wer else None),
            ("jiwer", times[3], None),
        ):
            results.append(
                Result(
                    f"{metric.name} statistics",
                    corpus.name,
                    count,
                    name,
                    seconds / count,
                    times[0] / count,
                    target,
                )
            )
    return results


def sums_of_random_choices(metric: Metric, corpus: Corpus) -> NDArray[Any]:
    """Summed statistics of random choices of an output for each sentence: the rows that a tuner scores."""
    rows = metric.prepare([[reference] for reference in corpus.references]).statistics(corpus.sentences, corpus.outputs)
    dice = np.random.default_rng(11)
    total = np.zeros((VECTORS, rows.shape[1]), rows.dtype)
    for sentence in range(len(corpus.references)):
        own = np.flatnonzero(corpus.sentences == sentence)
        if len(own):
            total += rows[own[dice.integers(0, len(own), VECTORS)]]
    return total


def compare_scores(metric: Metric, theirs: Any, corpus: Corpus, rounds: int) -> list[Result]:
    """Compare scores with a loop over the rows of the array, and over rows made into lists before."""
    rows = sums_of_random_choices(metric, corpus)
    lists = rows.tolist()
    compute = theirs._compute_score_from_stats
    assert metric.score(rows).tolist() == [compute(row).score for row in lists], f"{metric.name} scores differ"
    seconds, over_array, over_lists = best_of(
        rounds,
        lambda: metric.score(rows),
        lambda: [compute(row).score for row in rows],
        lambda: [compute(row).score for row in lists],
    )
    what = f"{metric.name} score"
    return [
        Result(what, corpus.name, VECTORS, "sacrebleu, rows", over_array / VECTORS, seconds / VECTORS, 200),
        Result(what, corpus.name, VECTORS, "sacrebleu, lists", over_lists / VECTORS, seconds / VECTORS, None),
    ]


def run(rounds: int) -> list[Result]:
    results = []
    corpora = translation_corpora()
    for corpus in corpora:
        results.append(compare_statistics(Bleu(), BLEU(force=True), corpus, 40, rounds))
        # Equal outputs once more: sacrebleu has them tokenised in its cache.
        results.append(compare_statistics(Bleu(), BLEU(force=True), corpus, None, rounds, keep_caches=True))
        plain = BLEU(force=True, tokenize="none")
        results.append(compare_statistics(Bleu(tokenize="none"), plain, corpus, None, rounds))
        results.append(compare_statistics(ChrF(), CHRF(), corpus.thinned(3000), 25, rounds))
        results.append(compare_statistics(ChrFPlusPlus(), CHRF(word_order=2), corpus.thinned(3000), 25, rounds))
        results.append(compare_statistics(Ter(), TER(), corpus.thinned(150), 15, min(rounds, 2)))
    results += compare_error_rates(real_corpus("asr_tts", 100) or corpora[0], rounds)
    for metric, theirs in ((Bleu(), BLEU()), (ChrF(), CHRF()), (Ter(), TER())):
        results += compare_scores(metric, theirs, corpora[0], min(rounds, 3))
    return results


def show(results: list[Result]) -> None:
    heads = ("what", "data", "items", "baseline", "theirs, µs", "ours, µs", "times", "target")
    rows = [
        (
            result.what,
            result.data,
            f"{result.items:,}",
            result.baseline,
            f"{result.baseline_seconds * 1e6:,.2f}",
            f"{result.seconds * 1e6:,.3f}",
            f"{result.speedup:,.1f}",
            verdict(result.speedup, result.target, at_least=True) if result.target else "",
        )
        for result in results
    ]
    print(table("Metrics, one core", heads, rows))


def main() -> int:
    parser = options_of(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of which the best counts")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    results = run(options.rounds)
    show(results)
    report = {
        "python": platform.python_version(),
        "machine": platform.machine(),
        "versions": {name: metadata.version(name) for name in ("numpy", "sacrebleu", "rapidfuzz", "jiwer")},
        "rounds": options.rounds,
        "results": [asdict(result) | {"speedup": result.speedup} for result in results],
    }
    return finish(options, "metrics", report)


if __name__ == "__main__":
    sys.exit(main())
