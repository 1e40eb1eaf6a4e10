"""The outputs of forests that are nearest to their references, for the exact oracle of WER and CER."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hulltune.arrays import Bools, Int32s, Int64s
from hulltune.data.corpus import Corpus
from hulltune.data.forest import Forest
from hulltune.lines.output import derivation_tokens
from hulltune.metrics.wer import PreparedEditRate
from hulltune.threads import Workers

MOST_CELLS = 1 << 27
"""The most cells of a table of edits: half a gigabyte."""
MOST_STEPS = 1 << 34
"""The most steps for a sentence and a reference: some seconds."""
MOST_EDGES = 10_000_000
"""The most edges of a derivation."""
_A_BLANK = 1 << 30


@dataclass(frozen=True)
class Nearest:
    """An output of a sentence with the fewest edits from one of its references."""

    text: str
    edits: int
    length: int
    """The number of words (or characters) of the reference."""


def nearest_outputs(
    corpus: Corpus, prepared: PreparedEditRate, sentences: Int64s, *, threads: int | None = None
) -> list[tuple[Nearest, ...]]:
    """For each sentence, the nearest output to each of its references.

    Empty for a sentence that is not among ``sentences``, that has no derivation, or that cannot be searched: an edge
    puts out a tail twice, there would be too many steps, or (by characters) a word is empty or begins or ends with
    white space. Dynamic programming over all derivations: O(edges × length) on lattices whose edges put their words
    after those of their tail, O(edges × length³) otherwise.
    """
    if not len(sentences):
        return [()] * len(corpus)
    symbols = (
        _character_symbols(corpus, prepared) if prepared.metric.unit == "character" else _word_symbols(corpus, prepared)
    )
    sizes = np.diff(symbols.offsets)

    def search(sentence: int) -> tuple[Nearest, ...]:
        from hulltune.kernels.outputs.nearest_output import Words, nearest_derivation, tails_put_out

        found = []
        first, last = corpus.sentence_edges[sentence : sentence + 2].tolist()
        nodes = int(corpus.node_offsets[sentence + 1] - corpus.node_offsets[sentence])
        only_prefixes, repeats = tails_put_out(corpus.label_offsets, corpus.labels, first, last)
        if first == last or repeats:
            return ()
        put_out = corpus.labels[corpus.label_offsets[first] : corpus.label_offsets[last]]
        if symbols.odd[put_out[put_out >= 0]].any():
            return ()
        graph = Words(
            int(corpus.node_offsets[sentence]), corpus.edge_offsets, corpus.tail_offsets, corpus.tails,
            corpus.label_offsets, corpus.labels, symbols.offsets, symbols.ids,
        )  # fmt: skip
        labels = len(put_out) + int(sizes[put_out[put_out >= 0]].sum()) + last - first
        for reference in prepared.references_of(sentence):
            target = np.append(reference, symbols.end).astype(np.int32)
            columns = len(target) + 1
            cells = nodes * columns * (1 if only_prefixes else columns)
            steps = labels * columns * (1 if only_prefixes else columns**2 // 6 + 1)
            if cells > MOST_CELLS or steps > MOST_STEPS:
                return ()
            edits, edges = nearest_derivation(graph, nodes, target, only_prefixes, MOST_EDGES)
            if edits < 0:
                return ()
            if len(symbols.end) and edits > len(reference) and _may_be_empty(corpus[sentence]):
                # Unlike all other outputs, the empty one has no blank after its last word.
                found.append(Nearest("", len(reference), len(reference)))
                continue
            tokens = derivation_tokens(corpus[sentence], edges)
            text = " ".join(corpus.vocabulary.words(tokens.tolist()))
            found.append(Nearest(text, int(edits), len(reference)))
        return tuple(found)

    found = dict(zip(sentences.tolist(), Workers(threads).map(search, sentences.tolist()), strict=True))
    return [found.get(sentence, ()) for sentence in range(len(corpus))]


@dataclass(frozen=True)
class _Symbols:
    """The symbols (words or characters) of each token: ``ids[offsets[token]:offsets[token + 1]]``."""

    ids: Int32s
    offsets: Int64s
    end: Int32s
    """The symbols that are appended to a reference."""
    odd: Bools
    """For each token, whether its symbols depend on its place in the line."""


def _word_symbols(corpus: Corpus, prepared: PreparedEditRate) -> _Symbols:
    encoded = prepared.encoded(corpus.vocabulary.tokens)
    ids = np.append(encoded.ids[: encoded.offsets[-1]], np.int32(-1))  # never empty
    return _Symbols(ids, encoded.offsets, np.zeros(0, np.int32), np.zeros(len(encoded.offsets), np.bool_))


def _character_symbols(corpus: Corpus, prepared: PreparedEditRate) -> _Symbols:
    """The characters of each token with a blank after them. A blank is appended to the reference, too, so the distance
    stays that of the texts. White space at the ends of a line does not count, so a token that begins or ends with it,
    or is empty, is odd.
    """
    tokens = prepared.metric.normalised(corpus.vocabulary.tokens)
    encoded = prepared.encoded(corpus.vocabulary.tokens)
    blank = int(prepared.encoded(["x x"]).ids[1])
    blank = _A_BLANK if blank < 0 else blank  # a negative number stands for all characters that no reference has
    ids = np.insert(encoded.ids[: encoded.offsets[-1]], encoded.offsets[1:], np.int32(blank))
    odd = np.array([not token or token != token.strip() for token in tokens] + [False])
    offsets = encoded.offsets + np.arange(len(encoded.offsets))
    return _Symbols(np.append(ids, np.int32(-1)), offsets, np.array([blank], np.int32), odd)


def _may_be_empty(forest: Forest) -> bool:
    """Whether some derivation puts out nothing at all."""
    empty = np.zeros(forest.nodes, dtype=np.bool_)
    for node in range(forest.nodes):
        for edge in range(int(forest.edge_offsets[node]), int(forest.edge_offsets[node + 1])):
            labels = forest.labels[forest.label_offsets[edge] : forest.label_offsets[edge + 1]]
            if np.all(labels < 0) and np.all(empty[forest.edge_tails(edge)[-1 - labels]]):
                empty[node] = True
                break
    return bool(empty[forest.root])
