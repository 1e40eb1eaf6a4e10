"""Small files in every format that hulltune reads, written from a fixed seed without any code of hulltune.

Only ``random.Random.random`` is drawn from, whose numbers are the same in every version of Python, and floats are added
one by one, since sum() rounds otherwise from 3.12 on.
"""

from __future__ import annotations

import csv
import io
import json
import math
import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from operator import add
from pathlib import Path
from random import Random
from typing import Any

WORDS = tuple(
    "the a of in to house garden tree river old small green über naïve it's e-mail 3.5 , . ? say says said go goes "  # noqa: SIM905
    "went walk walked walking run child children happy happily big bigger cold warm light dark night day winter "
    "summer and or not never always here there where when she he they we you open opened close closed door window road "
    "city".split()
)
GERMAN = """\
er sucht schnelle Hunde
ein Mädchen will einen Garten kennen
die Frauen denken an den großen Lehrer nicht
hier muss das Kind das große Brot lieben , wenn er mit dieser Katze spielt
hier hat er das dunkle Schloss gemalt , wenn eine große Frau in dem Turm wohnt
oft trägt die Mutter den schnellen Hund
ein Mann hat oft in einer Straße gewohnt
heute müssen sie in den alten Straßen sitzen
das Kind muss an den alten Schüler denken
dieser kleine Hund soll ein Buch schreiben
der Freund hat hier das Blatt geschrieben
diese Freunde arbeiten mit den kleinen Mädchen
"""
ENGLISH = """\
he looks for quick dogs
a girl wants to know a garden
the women do not think of the tall teacher
the child must love the big loaf here when he plays with this cat
he painted the dark lock here when a tall woman lives in the tower
the mother often carries the quick dog
a man often lived in a street
they must sit in the ancient streets today
the child must think of the old pupil
this little dog should write a book
the friend wrote the sheet here
these friends work with the little girls
"""
"""Sentences to decode in a loop, and their translations."""
NOTHING = (7, 20)
"""Sentences with references and without candidates."""


@dataclass(frozen=True)
class Candidate:
    """A hypothesis of a list. ``score`` is the decoder's own, which does not follow the order of the list."""

    text: str
    features: dict[str, float]
    score: float


@dataclass(frozen=True)
class Arc:
    """An arc of a lattice from one numbered state to a later one."""

    source: int
    target: int
    word: str
    acoustic: float
    language: float


@dataclass(frozen=True)
class Edge:
    """A hyperedge. Its output is words, and i for what tail i puts out."""

    head: int
    tails: list[int]
    output: list[str | int]
    features: dict[str, float]


class Dice(Random):
    """Draws that are made of ``random`` alone."""

    def below(self, count: int) -> int:
        """A whole number from 0 to ``count`` − 1."""
        return int(self.random() * count)

    def between(self, low: float, high: float, step: float) -> float:
        """A multiple of ``step``."""
        return round(low + self.below(round((high - low) / step) + 1) * step, 6)

    def word(self) -> str:
        """A word: the first ones more often."""
        return WORDS[int(len(WORDS) * self.random() ** 2)]

    def edited(self, words: Sequence[str], rate: float) -> tuple[list[str], int]:
        """The words with some replaced, left out or put in between, and the number of such errors."""
        result: list[str] = []
        errors = 0
        for word in words:
            chance = self.random() / rate
            errors += chance < 1.0
            if chance < 0.6:
                result.append(self.word())
            elif not 0.6 <= chance < 0.8:
                result.append(word)
            if 0.8 <= chance < 1.0:
                result.append(self.word())
        return result, errors


def write_all(folder: Path) -> None:
    """Write every file that the cases name into a folder."""
    _write_lists(folder, "lists", Dice(11), sentences=30, size=12)
    _write_lists(folder, "heldout", Dice(12), sentences=20, size=8)
    _write_answers(folder, Dice(13))
    _write_tags(folder, Dice(14))
    _write_other_list_formats(folder)
    _write_lattices(folder, Dice(15))
    _write_hypergraphs(folder, Dice(16))
    _write_sparse_forests(folder, Dice(17))
    _write_many_features(folder, Dice(18))
    _write_sentences(folder)
    _write_weights(folder)


def _write(path: Path, lines: Sequence[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _write_sentences(folder: Path) -> None:
    (folder / "loop.de").write_text(GERMAN, encoding="utf-8")
    (folder / "loop.en").write_text(ENGLISH, encoding="utf-8")


# Lists


def _candidates(dice: Dice, reference: Sequence[str], size: int) -> Iterator[Candidate]:
    """Hypotheses with ties (whole and half numbers), with duplicates of text and features, and with empty texts."""
    last: Candidate | None = None
    for _ in range(size):
        chance = dice.random()
        if last is not None and chance < 0.1:  # the very same once more
            yield last
            continue
        if last is not None and chance < 0.2:  # the same text with other features
            words, errors = last.text.split(), 2
        elif chance > 0.97:
            words, errors = [], len(reference)
        else:
            words, errors = dice.edited(reference, 0.15 + 0.5 * dice.random())
        features = {
            "tm_0": dice.between(-4.0, 4.0, 0.0625) - 0.75 * errors,
            "tm_1": dice.between(-3.0, 3.0, 0.001),
            "lm": dice.between(-6.0, 0.0, 0.5) - errors,
            "words": float(len(words)),
            "hint": float(dice.below(3)),
        }
        last = Candidate(" ".join(words), features, round(reduce(add, features.values()), 3))
        yield last


def _write_lists(folder: Path, name: str, dice: Dice, *, sentences: int, size: int) -> None:
    references = [[dice.word() for _ in range(3 + dice.below(9))] for _ in range(sentences)]
    lists = [list(_candidates(dice, reference, 1 + dice.below(2 * size))) for reference in references]
    if name == "lists":
        for sentence in NOTHING:
            lists[sentence] = []
    second = [dice.edited(reference, 0.25)[0] or ["yes"] for reference in references]
    _write(folder / f"{name}.ref.0", [" ".join(words) for words in references])
    _write(folder / f"{name}.ref.1", [" ".join(words) for words in second])
    dense, sparse, scores, further = [], [], [], []
    records: list[dict[str, Any]] = []
    ratings: dict[tuple[int, str], float] = {}
    for number, (candidates, *texts) in enumerate(zip(lists, references, second, strict=True)):
        for rank, each in enumerate(candidates):
            f = each.features
            dense.append(
                f"{number} ||| {each.text} ||| tm= {f['tm_0']} {f['tm_1']} lm= {f['lm']} words= {f['words']:g} "
                f"hint= {f['hint']:g} ||| {each.score}"
            )
            named = " ".join(f"{key}={value:g}" for key, value in f.items() if value)
            sparse.append(f"{number} ||| {each.text} ||| {named} ||| {each.score}")
            scores.append(f"{dice.between(-1.0, 1.0, 0.01)}")
            further.append(f"{number} {rank} {dice.between(0.0, 5.0, 0.25)}")
            ratings.setdefault((number, each.text), dice.between(0.0, 1.0, 0.01))
        records.append(
            {
                "id": f"s{number}",
                "refs": [" ".join(words) for words in texts],
                "candidates": [
                    {"text": each.text, "features": each.features, "score": each.score} for each in candidates
                ],
            }
        )
    _write(folder / f"{name}.moses", dense)
    _write(folder / f"{name}.sparse", sparse)
    _write(folder / f"{name}.jsonl", [json.dumps(record, ensure_ascii=False) for record in records])
    for number in range(0, sentences, 3):
        for record in records[number]["candidates"][1:]:
            record["features"] = {key: value for key, value in record["features"].items() if key != "hint"}
    if name == "lists":
        _write(folder / "lacking.jsonl", [json.dumps(record, ensure_ascii=False) for record in records])
    _write(folder / f"{name}.scores", scores)
    _write(folder / f"{name}.ranked-scores", further)
    ratings.update({(number, ""): 0.0 for number in range(sentences)})
    _write(folder / f"{name}.ratings.tsv", [f"{number}\t{value}\t{text}" for (number, text), value in ratings.items()])
    broken = list(dense)
    broken[3] = broken[3].replace("lm= ", "lm= nan ", 1)
    broken[17] = broken[17].replace(" |||", "", 1)
    _write(folder / f"{name}.broken", broken)


def _write_many_features(folder: Path, dice: Dice) -> None:
    """Lists with so many features, and so many sets of them, that the tables of a reader have to grow."""
    lines, references = [], []
    for number in range(25):
        reference = [dice.word() for _ in range(6)]
        references.append(" ".join(reference))
        for _ in range(12):
            words, errors = dice.edited(reference, 0.4)
            named = {f"feature{dice.below(150)}": dice.between(-1.0, 1.0, 0.125) for _ in range(3 + dice.below(9))}
            features = " ".join(f"{name}={value}" for name, value in named.items())
            lines.append(f"{number} ||| {' '.join(words)} ||| lm={dice.between(-2.0, 0.0, 0.25) - errors} {features}")
    _write(folder / "many.moses", lines)
    _write(folder / "many.ref", references)


def _write_answers(folder: Path, dice: Dice) -> None:
    """Questions with short answers, of which many are equal."""
    records = []
    for number in range(40):
        right = str(number % 7)
        candidates = []
        for _ in range(8):
            text = right if dice.random() < 0.4 else str(dice.below(9))
            features = {
                "logprob": dice.between(-9.0, 0.0, 0.01),
                "votes": float(dice.below(4)) + (text == right),
                "judge": dice.between(0.0, 1.0, 0.1) + 0.3 * (text == right),
            }
            candidates.append({"text": text, "features": features})
        records.append({"refs": [right], "candidates": candidates})
    _write(folder / "answers.jsonl", [json.dumps(record) for record in records])


def _write_tags(folder: Path, dice: Dice) -> None:
    """Sequences of BIO tags."""
    lines, references = [], []
    for number in range(20):
        tags = [("O", "B-PER", "B-LOC")[dice.below(3)] for _ in range(8)]
        tags = [f"I-{tags[k - 1][2:]}" if k and tags[k - 1] != "O" and k % 3 == 2 else tags[k] for k in range(8)]
        references.append(" ".join(tags))
        for _ in range(6):
            guess = [("O", "B-PER", "B-LOC")[dice.below(3)] if dice.random() < 0.3 else tag for tag in tags]
            wrong = sum(a != b for a, b in zip(guess, tags, strict=True))
            first, second = dice.between(-3.0, 3.0, 0.25) - wrong, dice.between(-3.0, 3.0, 0.01)
            lines.append(f"{number} ||| {' '.join(guess)} ||| crf={first} length={len(guess)} other={second}")
    _write(folder / "tags.moses", lines)
    _write(folder / "tags.ref", references)


def _write_other_list_formats(folder: Path) -> None:
    """The first held-out lists as every other tool would have written them."""
    records = [json.loads(line) for line in (folder / "heldout.jsonl").read_text(encoding="utf-8").splitlines()[:8]]
    for name, delimiter in (("csv", ","), ("tsv", "\t")):
        table = io.StringIO()
        rows = csv.writer(table, delimiter=delimiter, lineterminator="\n")
        rows.writerow(["id", "text", "lm", "tm", "ref"])
        for record in records:
            for each in record["candidates"]:
                features = each["features"]
                rows.writerow([record["id"], each["text"], features["lm"], features["tm_0"], record["refs"][0]])
        _write(folder / f"table.{name}", table.getvalue().splitlines())
    fairseq, nemo, sockeye = [], [], []
    for number, record in enumerate(records):
        fairseq += [f"S-{number}\tquelle {number}", f"T-{number}\t{record['refs'][0]}"]
        found = record["candidates"]
        for each in found:
            parts = " ".join(str(value) for value in each["features"].values())
            fairseq += [f"H-{number}\t{each['score']}\t{each['text']}", f"P-{number}\t{parts}"]
        beams = [[each["text"], each["score"]] for each in found]
        nemo.append({"audio_filepath": f"{number}.wav", "text": record["refs"][0], "pred_text": "", "beams": beams})
        texts, scores = [each["text"] for each in found], [[-each["score"]] for each in found]
        sockeye.append(
            {"sentence_id": number + 1, "translation": texts[0], "score": scores[0][0], "translations": texts,
             "scores": scores}
        )  # fmt: skip
        features = [each["features"] for each in found]
        spoken = [
            f"{f['tm_0']} {f['lm']} {f['words']:g} {each['text']}" for f, each in zip(features, found, strict=True)
        ]
        _write(folder / f"srilm/u{number}.nbest", spoken)
        _write(folder / f"srilm/rnnlm/u{number}", [str(f["tm_1"]) for f in features])
    _write(folder / "generate.txt", fairseq)
    _write(folder / "manifest.json", [json.dumps(each, ensure_ascii=False) for each in nemo])
    _write(folder / "sockeye.json", [json.dumps(each, ensure_ascii=False) for each in sockeye])
    every = [(number, each) for number, record in enumerate(records) for each in record["candidates"]]
    _write(folder / "scores/text", [f"{number}\t{each['text']}" for number, each in every])
    for name in ("lm", "tm_0"):
        _write(folder / f"scores/{name}.txt", [str(each["features"][name]) for _, each in every])
    _write(folder / "eight.ref", [record["refs"][0] for record in records])


# Lattices


def _lattice(dice: Dice, reference: Sequence[str]) -> list[Arc]:
    """Up to three states for each word of the reference; arcs with equal costs, and arcs that skip a word."""
    arcs: list[Arc] = []
    layers = [[0]]
    for position, word in enumerate(reference):
        first = layers[-1][-1] + 1
        layer = [first + k for k in range(1 if position == len(reference) - 1 else 1 + dice.below(3))]
        for target in layer:
            for k in range(1 + dice.below(3)):
                source = layers[-1][dice.below(len(layers[-1]))] if k else layers[-1][k % len(layers[-1])]
                right = dice.random() < 0.5
                shown = word if right else ("<eps>" if dice.random() < 0.1 else dice.word())
                acoustic = dice.between(-9.0, -1.0, 0.125) + right
                arcs.append(Arc(source, target, shown, acoustic, dice.between(-4.0, 0.0, 0.5)))
        if len(layers) > 1 and dice.random() < 0.3:
            arcs.append(Arc(layers[-2][0], layer[0], dice.word(), dice.between(-12.0, -4.0, 0.125), -3.0))
        for source in layers[-1]:  # no state is a dead end
            if not any(arc.source == source for arc in arcs):
                arcs.append(Arc(source, layer[-1], word, -8.0, -2.5))
        layers.append(layer)
    return sorted(arcs, key=lambda arc: (arc.source, arc.target))


def _write_lattices(folder: Path, dice: Dice) -> None:
    references = [[dice.word() for _ in range(3 + dice.below(7))] for _ in range(12)]
    lattices = [_lattice(dice, reference) for reference in references]
    others = [_lattice(dice, reference) for reference in references]
    words = sorted({arc.word for lattice in lattices for arc in lattice} - {"<eps>"})
    _write(folder / "lattices.ref", [" ".join(reference) for reference in references])
    _write(folder / "lattices.ids", [f"utt{number}" for number in range(len(lattices))])
    _write(folder / "words.txt", ["<eps> 0", *(f"{word} {number}" for number, word in enumerate(words, 1))])
    archive: list[str] = []
    binary = b""
    for number, (lattice, other) in enumerate(zip(lattices, others, strict=True)):
        _write(folder / f"slf/utt{number}.slf", slf(lattice, f"utt{number}"))
        _write(folder / f"again/utt{number}.slf", slf(other, f"utt{number}"))
        _write(folder / f"openfst/utt{number}.txt", openfst_text(lattice))
        archive += [f"utt{number} ", *kaldi_text(lattice, words), ""]
        binary += f"utt{number} ".encode() + fst_binary(lattice, words, "compactlattice44")
        for name, arc_type in (("binary", "standard"), ("tuples", "tropicalsparsetuple")):
            (folder / name).mkdir(exist_ok=True)
            (folder / name / f"utt{number}.fst").write_bytes(fst_binary(lattice, words, arc_type))
    (folder / "kaldi.ark").write_bytes(binary)
    _write(folder / "kaldi.txt", archive)
    _write(folder / "lattices.plf", [plf(lattice) for lattice in lattices])
    for name, extended in (("plain", False), ("extended", True)):
        lines = [line for number, lattice in enumerate(lattices) for line in search_graph(lattice, number, extended)]
        _write(folder / f"{name}.osg", lines)


def slf(lattice: Sequence[Arc], name: str) -> list[str]:
    """The lines of a lattice in the standard lattice format of HTK, words on links."""
    states = max(arc.target for arc in lattice) + 1
    head = ["VERSION=1.0", f"UTTERANCE={name}", "lmscale=2.5 wdpenalty=-0.5", f"N={states} L={len(lattice)}"]
    nodes = [f"I={state} t={state / 10:.2f}" for state in range(states)]
    links = [
        f"J={number} S={arc.source} E={arc.target} W={'!NULL' if arc.word == '<eps>' else _escaped(arc.word)} "
        f"a={arc.acoustic} l={arc.language}"
        for number, arc in enumerate(lattice)
    ]
    return [*head, *nodes, *links]


def _escaped(word: str) -> str:
    return word.replace("'", "\\'")


def openfst_text(lattice: Sequence[Arc]) -> list[str]:
    """The lines of a lattice as OpenFst prints it, with pairs of costs."""
    arcs = [f"{arc.source}\t{arc.target}\t{arc.word}\t{-arc.acoustic},{-arc.language}" for arc in lattice]
    return [*arcs, f"{max(arc.target for arc in lattice)}\t0.5,0.25"]


def kaldi_text(lattice: Sequence[Arc], words: Sequence[str]) -> list[str]:
    """The lines of a CompactLattice of Kaldi, without its name and the empty line that ends it."""
    numbers = {"<eps>": 0, **{word: number for number, word in enumerate(words, 1)}}
    arcs = [
        f"{arc.source}\t{arc.target}\t{numbers[arc.word]}\t{-arc.language},{-arc.acoustic},3_5_5" for arc in lattice
    ]
    return [*arcs, f"{max(arc.target for arc in lattice)}\t0.5,1,"]


def one_cost(arc: Arc | None) -> bytes:
    """The cost of an arc as a binary FST has it; None stands for the final state."""
    return struct.pack("<f", 0.5 if arc is None else -arc.acoustic - arc.language)


def two_costs(arc: Arc | None) -> bytes:
    """Graph and acoustic cost as Kaldi has them, and three transition ids."""
    costs = (0.5, 1.0) if arc is None else (-arc.language, -arc.acoustic)
    return struct.pack("<ffi3i", *costs, 3, 3, 5, 5)


def sparse_costs(arc: Arc | None) -> bytes:
    """Costs by number as HiFST has them: what others are, the first pair, and the number of further ones with these."""
    first, *others = [(1, 0.5)] if arc is None else [(1, -arc.acoustic), (2 + arc.source % 5, -arc.language)]
    return struct.pack("<fifq", 0.0, *first, len(others)) + b"".join(struct.pack("<if", *pair) for pair in others)


ARC_TYPES: dict[str, tuple[Callable[[Arc | None], bytes], bytes]] = {
    "standard": (one_cost, struct.pack("<f", math.inf)),
    "compactlattice44": (two_costs, struct.pack("<ffi", math.inf, math.inf, 0)),
    "tropicalsparsetuple": (sparse_costs, struct.pack("<fifq", math.inf, -1, 0.0, 0)),
}
"""By arc type the weight of an arc, and that of a state that is not final."""


def fst_binary(lattice: Sequence[Arc], words: Sequence[str], arc_type: str) -> bytes:
    """A vector FST of OpenFst."""
    weight, not_final = ARC_TYPES[arc_type]
    numbers = {"<eps>": 0, **{word: number for number, word in enumerate(words, 1)}}
    last = max(arc.target for arc in lattice)
    by_source: list[list[Arc]] = [[] for _ in range(last + 1)]
    for arc in lattice:
        by_source[arc.source].append(arc)
    parts = [struct.pack("<ii6si", 2125659606, 6, b"vector", len(arc_type)), arc_type.encode()]
    parts.append(struct.pack("<iiQqqq", 2, 0, 0, 0, last + 1, 0))
    for state, arcs in enumerate(by_source):
        parts += [weight(None) if state == last else not_final, struct.pack("<q", len(arcs))]
        for arc in arcs:
            label = numbers[arc.word]
            parts.append(struct.pack("<ii", label, label) + weight(arc) + struct.pack("<i", arc.target))
    return b"".join(parts)


def plf(lattice: Sequence[Arc]) -> str:
    """A lattice, its arcs by source, as a Python tuple in one line."""
    nodes = [
        "".join(
            f"({arc.word!r},{arc.acoustic},{arc.language},{arc.target - arc.source}),".replace("<eps>", "*EPS*")
            for arc in arcs
        )
        for _, arcs in groupby(lattice, key=lambda arc: arc.source)
    ]
    return "(" + "".join(f"({node})," for node in nodes) + ")"


def search_graph(lattice: Sequence[Arc], sentence: int, extended: bool) -> list[str]:
    """A hypothesis for each arc; those into the same state are recombined with the first."""
    last = max(arc.target for arc in lattice)
    steps = sorted(lattice, key=lambda arc: (arc.target, arc.source))
    first: dict[int, int] = {}
    onward: dict[int, int] = {}
    for number, arc in enumerate(steps, 1):
        first.setdefault(arc.target, number)
        onward.setdefault(arc.source, number)
    lines = [f"{sentence} hyp=0 stack=0" + (" forward=1 fscore=-1.5" if extended else "")]
    for number, arc in enumerate(steps, 1):
        recombined = "" if first[arc.target] == number else f" recombined={first[arc.target]}"
        forward = -1 if arc.target == last else onward[arc.target]
        word = "" if arc.word == "<eps>" else f"{arc.word} "
        scores = f' scores="core=({arc.acoustic},{arc.language}) oov={len(arc.word) % 2}"' if extended else ""
        out = f'"quell wort|{word}"' if extended else word
        lines.append(
            f"{sentence} hyp={number} stack={1 + arc.source} back={first.get(arc.source, 0)} score=-1 "
            f"transition={arc.acoustic + arc.language}{recombined} forward={forward} fscore=-2.5 covered=0-0{scores} "
            f"out={out}"
        )
    return lines


# Hypergraphs


def _hypergraph(dice: Dice, reference: Sequence[str], features: Callable[[bool], dict[str, float]]) -> list[Edge]:
    """A node for each span of the reference: words for short spans, two parts in either order for longer ones."""
    edges: list[Edge] = []
    nodes: dict[tuple[int, int], int] = {}
    for length in range(1, len(reference) + 1):
        for start in range(len(reference) - length + 1):
            head = nodes[start, start + length] = len(nodes)
            if length <= 2:
                for _ in range(1 + dice.below(3)):
                    words, errors = dice.edited(reference[start : start + length], 0.4)
                    output: list[str | int] = [*(words or [dice.word()])]
                    edges.append(Edge(head, [], output, features(errors == 0)))
            for _ in range(1 + dice.below(2) if length > 1 else 0):
                middle = start + 1 + dice.below(length - 1)
                parts = [nodes[start, middle], nodes[middle, start + length]]
                monotone = dice.random() < 0.75
                output = [0, 1] if monotone else [1, dice.word(), 0]
                edges.append(Edge(head, parts, output, {**features(monotone), "glue": 1.0}))
    return edges


def _write_hypergraphs(folder: Path, dice: Dice) -> None:
    def features(good: bool) -> dict[str, float]:
        values = {
            "lm": dice.between(-4.0, 0.0, 0.25) + good,
            "tm": dice.between(-2.0, 2.0, 0.001),
            "words": float(dice.below(3)),
        }
        return {name: value for name, value in values.items() if value}

    references = [[dice.word() for _ in range(3 + dice.below(4))] for _ in range(12)]
    forests = [_hypergraph(dice, reference, features) for reference in references]
    _write(folder / "hypergraphs.ref", [" ".join(reference) for reference in references])
    _write(
        folder / "hypergraphs.ref.1", [" ".join(dice.edited(reference, 0.3)[0] or ["no"]) for reference in references]
    )
    _write(folder / "hypergraphs.forest", [line for edges in forests for line in forest_text(edges)])
    _write(folder / "with-empty.forest", [*forest_text(forests[0]), "0 0", *forest_text(forests[2])])
    _write(folder / "with-empty.ref", [" ".join(reference) for reference in references[:3]])
    _write(folder / "travatar.json", [travatar_json(edges) for edges in forests])
    for number, edges in enumerate(forests):
        _write(folder / f"hg/{number:02}.hg", forest_text(edges))
        _write(folder / f"joshua/{number:02}.hg", joshua(edges))
        _write(folder / f"cdec/{number:02}.json", [cdec_json(edges)])


def _write_sparse_forests(folder: Path, dice: Dice) -> None:
    """Write forests with many features, of which each edge has few."""
    references = [[dice.word() for _ in range(4 + dice.below(3))] for _ in range(10)]

    def features(good: bool) -> dict[str, float]:
        named = {f"s{dice.below(90)}": dice.between(-1.0, 1.0, 0.125) for _ in range(3)}
        return {"lm": dice.between(-3.0, 0.0, 0.25) + good, **named}

    forests = [_hypergraph(dice, reference, features) for reference in references]
    _write(folder / "sparse.forest", [line for edges in forests for line in forest_text(edges)])
    _write(folder / "sparse.ref", [" ".join(reference) for reference in references])


def _by_head(edges: Sequence[Edge]) -> Iterator[tuple[int, list[Edge]]]:
    for head, group in groupby(edges, key=lambda edge: edge.head):
        yield head, list(group)


def _target(edge: Edge, base: int) -> str:
    return " ".join(f"[{edge.tails[item] + base}]" if isinstance(item, int) else item for item in edge.output)


def _named(edge: Edge) -> str:
    return " ".join(f"{name}={value}" for name, value in edge.features.items())


def forest_text(edges: Sequence[Edge]) -> list[str]:
    """The lines of a hypergraph, its edges by head, as cdec and Moses write it for each other."""
    lines = [f"{edges[-1].head + 1} {len(edges)}"]
    for _, group in _by_head(edges):
        lines += [str(len(group)), *(f"{_target(edge, 0)} ||| {_named(edge)}" for edge in group)]
    return lines


def joshua(edges: Sequence[Edge]) -> list[str]:
    """The lines of a hypergraph as Joshua dumps it, with its root among the nodes."""
    lines = ["# target ||| features", f"{edges[-1].head + 1} {len(edges)}"]
    for head, group in _by_head(edges):
        lines += [str(head + 1), *(f"{_target(edge, 1)} ||| {_named(edge)}" for edge in group)]
    return lines


def cdec_json(edges: Sequence[Edge]) -> str:
    """A hypergraph as older versions of cdec write it: one object, in which keys are repeated."""
    names = sorted({name for edge in edges for name in edge.features})
    rules: list[int | str] = []
    parts = []
    written = 0
    for _, group in _by_head(edges):
        records = []
        for edge in group:
            number = len(rules) // 2 + 1
            target = " ".join(f"[{item + 1}]" if isinstance(item, int) else item for item in edge.output)
            rules += [number, f"[X] ||| quelle ||| {target} ||| p=1"]
            values = [part for name, value in edge.features.items() for part in (names.index(name), value)]
            records.append({"tail": edge.tails, "spans": [0, 1, -1, -1], "feats": values, "rule": number})
        numbers = list(range(written, written + len(group)))
        written += len(group)
        node = {"in_edges": numbers, "cat": "X"}
        parts += [f'"edges":{json.dumps(records)}', f'"node":{json.dumps(node)}']
    head = [f'"rules":{json.dumps(rules, ensure_ascii=False)}', f'"features":{json.dumps(names)}']
    return "{" + ",".join([*head, *parts]) + "}"


def travatar_json(edges: Sequence[Edge]) -> str:
    """A hypergraph as Travatar writes it, in one line; its root is node 0."""
    root = edges[-1].head
    nodes = [{"sym": "X", "span": [0, 1], "id": number} for number in range(root + 1)]
    records = [
        {
            "id": number,
            "head": root - edge.head,
            "tails": [root - tail for tail in edge.tails],
            "trg": [{"words": [-1 - item if isinstance(item, int) else item for item in edge.output], "label": "X"}],
            "features": edge.features,
        }
        for number, edge in enumerate(edges)
    ]
    return json.dumps({"nodes": nodes, "edges": records, "words": ["quelle"]}, ensure_ascii=False)


def _write_weights(folder: Path) -> None:
    for name, weights in {
        "loop.w": {"lm": 1.0, "forward": 1.0, "backward": 1.0},
        "lists.w": {"tm_0": 0.5, "tm_1": 0.25, "lm": 1.0, "words": -0.5, "hint": 0.125},
        "ties.w": {"words": 1.0, "hint": 1.0},
        "other.w": {"tm_0": 1.0, "tm_1": -0.5, "lm": 0.25, "words": 0.75, "hint": 1.0},
        "lattices.w": {"acoustic": 1.0, "language": 2.0, "words": 0.5},
        "pairs.w": {"score_0": 1.0, "score_1": 2.0},
        "tuples.w": {"f1": 1.0, "f2": 2.0, "f4": 1.5, "f6": 0.5},
        "kaldi.w": {"graph": 2.0, "acoustic": 1.0},
        "transitions.w": {"transition": 1.0},
        "core.w": {"core_0": 1.0, "core_1": 2.0, "oov": -0.5},
        "hypergraphs.w": {"lm": 1.0, "tm": 0.5, "words": -0.25, "glue": 0.125},
        "table.w": {"lm": 1.0, "tm": 0.5},
        "score.w": {"score": 1.0},
        "speech.w": {"am": 1.0, "lm3": 10.0},
        "sphinx.w": {"acoustic": 1.0, "language": 9.0, "words": -5.0},
        "cdec.w": {
            "WordPenalty": 4.25, "LanguageModel": -1.1165, "PhraseModel_0": -0.96, "PhraseModel_1": -0.65,
            "PhraseModel_2": -0.77, "PassThrough": -10.0,
        },
        "links.w": {"links": -1.0, "in_fwd": 1.0, "in_rev": 1.0, "in_awesome": 2.0, "dice": 0.5},
        "french.w": {"canoe0": 1.0, "canoe1": 1.0, "canoe2": 1.0, "canoe3": 1.0, "nbestWordPostSrc": 0.5},
        "russian.w": {"f1": 1.0, "f2": 0.5, "f3": 0.5, "f4": 2.0, "f7": 20.0, "f8": -3.0, "f9": -3.5},
    }.items():  # fmt: skip
        _write(folder / name, [f"{feature} {weight}" for feature, weight in weights.items()])
