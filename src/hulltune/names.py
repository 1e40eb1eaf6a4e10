"""The names that options take (formats, features, metrics, searches, policies of a step), and their numbers.

The rooms that implement a name or a default and the command line read it here. Help and completion appear without
numpy, so this module imports nothing.
"""

from __future__ import annotations

from typing import Any

LIST_FORMATS = (
    "moses", "jsonl", "csv", "tsv", "parquet", "fairseq", "nemo", "sockeye", "score-folder", "srilm", "hits", "packed",
)  # fmt: skip
"""Formats of lists, the common ones first; a packed file holds any dataset."""
FOREST_FORMATS = (
    "openfst", "kaldi", "slf", "cdec-json", "travatar", "moses-graph", "plf", "joshua", "forest",
    "openfst-text",
)  # fmt: skip
RANKING_FORMATS = ("trec", "letor")
"""Formats of documents that rankers scored; their lists are queries."""
FORMATS = (*LIST_FORMATS, *RANKING_FORMATS, *FOREST_FORMATS)
"""Formats of lists and forests that can be read."""
WRITERS = ("packed", "moses", "jsonl", "forest", "openfst-text", "slf")
"""Formats that lists or forests can be written in."""
RANKED_FORMATS = ("text", "moses", "jsonl", "tsv", "kaldi", "trn", "trec")
"""Formats for lists of the best outputs; a run of trec has whole orders."""
ENGINES = ("opensearch", "elasticsearch", "ltr", "solr", "vespa", "langchain", "llamaindex", "ranx", "qdrant")
"""Search engines and libraries that weights of rankers can be written for, or that refuse them with a reason."""
NORMALISATIONS = ("minmax", "zscore", "l2", "rrf", "none")
"""What can be done to the scores of rankers, query by query."""
CHANGE_ORDERS = ("data", "best", "worst")
"""Orders of the changes of a comparison: as in the data, or the best or worst first."""
WEIGHT_FORMATS = ("json", "moses", "lines")
"""Formats of files of weights."""
IDS = ("order", "name", "name1")
"""Ways to find the sentence of a forest: by its place, or by the number in its name, counted from 0 or from 1."""
ON_ERROR = ("raise", "skip")

BUILTIN_FEATURES = {
    "words": "the number of words",
    "chars": "the number of characters, spaces included",
    "rank": "the place in the list as written, from 1",
    "consensus": "how many hypotheses of the list as written have this text",
    "log_length": "log(1 + words)",
}
"""Features that can be computed from lists alone, and their descriptions."""
FOREST_FEATURES = ("words",)
"""The built-in features that can be computed from forests, too: sums over edges."""

METRICS: dict[str, tuple[str, dict[str, Any]]] = {
    "accuracy": ("hulltune.metrics.accuracy:Accuracy", {}),
    "aer": ("hulltune.metrics.aer:Aer", {}),
    "ask": ("hulltune.metrics.ask:Ask", {}),
    "bleu": ("hulltune.metrics.bleu:Bleu", {}),
    "cer": ("hulltune.metrics.wer:Cer", {}),
    "chrf": ("hulltune.metrics.chrf:ChrF", {}),
    "chrf++": ("hulltune.metrics.chrf:ChrFPlusPlus", {}),
    "exact_match": ("hulltune.metrics.accuracy:Accuracy", {}),
    "fmeasure": ("hulltune.metrics.fmeasure:FMeasure", {}),
    "given": ("hulltune.metrics.given:Given", {}),
    "map": ("hulltune.metrics.orders:AveragePrecision", {}),
    "mean": ("hulltune.metrics.given:Given", {}),
    "mer": ("hulltune.metrics.wer:Mer", {}),
    "meteor": ("hulltune.metrics.meteor:Meteor", {}),
    "mrr": ("hulltune.metrics.orders:ReciprocalRank", {}),
    "ndcg": ("hulltune.metrics.orders:Ndcg", {}),
    "ndcg_exp": ("hulltune.metrics.orders:Ndcg", {"exponential": True}),
    "p": ("hulltune.metrics.orders:PrecisionAt", {}),
    "rbp": ("hulltune.metrics.orders:RankBiasedPrecision", {}),
    "recall": ("hulltune.metrics.orders:Recall", {}),
    "success": ("hulltune.metrics.orders:Success", {}),
    "ratio": ("hulltune.metrics.given:ColumnRatio", {}),
    "ter": ("hulltune.metrics.ter:Ter", {}),
    "wer": ("hulltune.metrics.wer:Wer", {}),
}
"""The class of each built-in metric, imported on use, and the options that its name implies."""

SEARCHES = ("cma", "random", "coordinate", "powell", "gradient", "certified")
POLICIES = ("middle", "closest", "widest")
SMOOTHINGS = ("none", "min", "mean")
SCALES = ("l1", "l2", "none")
"""Norms to which weights are scaled before they are written."""

DEFAULT_SEARCH = "cma"
"""The strategy of a search."""
RESTARTS = 39
"""Climbs in addition to the one from the start weights."""
EVOLUTIONS = 4
"""Searches by evolution in addition to the one from the start weights; each takes as long as a dozen climbs."""
DIRECTIONS = 16
"""Lines that one round of a climb searches."""
GAP = 0.001
"""The gap between value and bound at which a certified search may end, in the unit of the metric."""
MOST_RESTARTS = 100_000
MOST_DIRECTIONS = 10_000
MOST_THREADS = 1_024
MOST_BEST = 10_000_000
MOST_RUNS = 10_000
MOST_MADE = 1_000_000
"""What is refused at once, because it would end in the memory or in years: more restarts, directions of a round,
threads, derivations of a sentence, runs (replicates, iterations) and made-up sentences or candidates than these.
"""
MEGABYTES = 1.5
"""The largest size of a report."""
