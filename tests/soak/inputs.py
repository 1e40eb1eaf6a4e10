"""The kinds of input that are fuzzed: good ones to begin with, and what is done with each."""

from __future__ import annotations

import bz2
import gzip
import hashlib
import io
import json
import lzma
import os
import random
import warnings
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import hulltune
from hulltune import Dataset, InputError, TuneResult, read, read_references, read_weights, rerank
from hulltune.errors import Note
from hulltune.formats import sniff
from hulltune.formats.packed import read_packed, write_packed
from hulltune.loop.folder import RunFolder
from hulltune.loop.result import LoopResult
from hulltune.metrics import Store, import_answers
from hulltune.metrics.given import ScoreTable
from hulltune.metrics.meteor import read_synonyms
from hulltune.metrics.questions import Question
from hulltune.metrics.store import output_ids
from hulltune.names import FORMATS, LIST_FORMATS
from tests.results.files import write_all
from tests.soak.mutations import changed_value, flipped, json_text, mutated

LONGEST = 1500
"""Longer text files are cut after this many bytes, at the end of a line: small inputs are read often."""
COLUMNS = ("characters", "count")
IDS = output_ids("s", [b"k"] * 3, ["a", "b", "c"])

Use = Callable[[Path, random.Random], object]
Mutate = Callable[[bytes, list[bytes], random.Random], bytes]


class WrongAnswerError(Exception):
    """An answer that is not the right one, though nothing was said."""


@dataclass
class Kind:
    """Inputs of a kind: some good ones, a mutation, and a use, which answers or raises InputError."""

    seeds: list[bytes]
    use: Use
    mutate: Mutate = mutated


def all_kinds(folder: Path) -> dict[str, Kind]:
    """Every kind by name; good inputs are made in a folder."""
    write_all(folder)
    kinds = {name: Kind(seeds, use_format(name)) for name, seeds in _seeds_by_format(folder).items()}
    for name, data in VARIANTS:
        kinds[name].seeds.append(data)
    kinds["kaldi, list"] = Kind([b"u1 lat.ark:3\nu2 lat.ark:26\n"], _use_kaldi_list)
    moses = kinds["moses"].seeds
    kinds["compressed"] = Kind([pack(data) for data in moses for pack in PACKERS], use_format("moses"))
    packed = _packed_files(folder, kinds)
    kinds["packed, damaged"] = Kind(list(packed), _UseDamaged(packed), lambda data, _, dice: flipped(data, dice))
    kinds["packed, crafted"] = Kind(list(packed), use_packed, crafted)
    kinds["references"] = Kind(_files(folder, "lists.ref.*"), lambda path, _: read_references(path))
    named = [b"u1 a b\nu2 c\n", b"a b (u1)\nc (s-u2)\n", b";; x\nu1 1 s 0.0 1.5 <o> a { b / c }\nu2 1 s 2 3.5 c\n"]
    kinds["references by id"] = Kind(named, _use_named_references)
    kinds["weights"] = Kind(_files(folder, "*.w"), lambda path, _: read_weights(path))
    line = b'{"sentence": 0, "output": "a b", "score": 1.5}\n{"sentence": 1, "output": "c", "score": -2}\n'
    kinds["scores, jsonl"] = Kind([line], lambda path, _: ScoreTable.read(path))
    kinds["scores, tsv"] = Kind(_files(folder, "*.ratings.tsv"), _use_tsv)
    kinds["synonyms"] = Kind([b"big large # size\nfast quick rapid\n"], lambda path, _: read_synonyms(path))
    kinds["results"] = Kind([_result(folder)], _use_result)
    kinds["loop"] = Kind([_state()], _use_state)
    kinds["store"] = Kind([_store(folder)], _use_store, lambda data, _, dice: flipped(data, dice))
    kinds["answers"] = Kind([_answers()], _use_answers)
    return kinds


def _use_named_references(path: Path, dice: random.Random) -> object:
    lists = read({"id": ["u1", "u2"], "text": ["a b", "c"], "f": [1.0, 2.0]})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Note)  # doubts are no faults
        found = read(lists, path)
    if found.references is None or not all(found.references):
        raise WrongAnswerError("a list without a reference, and nothing was said")
    return found


# Formats.

ARCHIVE = b"u1 \n0\t1\t6\t1,-10,3_4\n1\n\nu2 \n0\t1\t7\t2,-1,\n1\t0.5,0.25,\n\n"
VARIANTS = [
    ("plf", b"((('a',{'F1':0.5,'F2':-1e3},1),('b',{\"F2\":2},2),),(('c',{},1),),)\n"),
    ("slf", b"VERSION=1.1\nNODES=4\nLINKS=3\nx1scale=0.3\nJ=0 S=0 E=1 W=it x1=1\nJ=1 S=1 E=3\nJ=2 S=0 E=2 x1=2\n"),
    ("slf", b"VERSION=1.0\nN=2 L=1\nI=0 i=0.0,0.0\nI=1 i=0.1,0\nJ=0 S=0 E=1 W=a l=1 how=fast\n"),
    ("kaldi", ARCHIVE),
    ("kaldi", b"spk 1 \n0\t1\t5\t7\t0.5\n1\t0.25\n\nspk 2 \n0\t1\t5\t8\t1\n1\n\n"),
    (
        "moses",
        b"0 ||| a ||| 0-0 1-1 ||| WordScores= -0.5 ||| F0= -1 ||| 0\n0 ||| c ||| ||| WordScores= ||| F0= 1 ||| 2\n",
    ),
    ("forest", b"2 3\n1\n<s> |||  ||| 0\n2\n[0] a ||| TM0_1=1 TM0_2=0 ||| 1\n[0] b ||| TM0_1=0 TM0_2=1 ||| 1\n"),
    ("openfst-text", b"0 1 5 0.5\n0 1 999999998 0.5\n1 2 6 1\n2\n"),
]
"""What other programs write in a format."""

PACKERS: list[Callable[[bytes], bytes]] = [gzip.compress, bz2.compress, lzma.compress]


def _files(folder: Path, pattern: str) -> list[bytes]:
    return [_shortened(path.read_bytes()) for path in sorted(folder.glob(pattern))]


def _shortened(data: bytes) -> bytes:
    return data if len(data) <= LONGEST else data[: data.find(b"\n", LONGEST) + 1] or data


def _is_good(path: Path, name: str) -> bool:
    try:
        return len(read(path, format=name)) > 0
    except InputError:
        return False


def _shortest_good(path: Path, name: str) -> bytes:
    """The first lines of a file that are a good file of its format by themselves; all if there are none such."""
    data = path.read_bytes()
    start = path.with_name("start")
    ends = [place + 1 for place, byte in enumerate(data) if byte == 10]
    for end in [end for end in ends if end >= LONGEST // 3][:200]:
        start.write_bytes(data[:end])
        good = len(data) > LONGEST and _is_good(start, name) and sniff(start) == name
        start.unlink()
        if good:
            return data[:end]
    return data


def _seeds_by_format(folder: Path) -> dict[str, list[bytes]]:
    seeds: dict[str, list[bytes]] = {}
    for path in sorted(folder.rglob("*")):
        if not path.is_file():
            continue
        try:
            name = sniff(path)
        except InputError:
            continue
        found = seeds.setdefault(name, [])
        if len(found) < 4 and _is_good(path, name):
            found.append(_shortest_good(path, name))
    return {name: found for name, found in seeds.items() if name in FORMATS}


def use_format(name: str) -> Use:
    """Read a file, with its format given or not, and look at all that was read."""

    def use(path: Path, dice: random.Random) -> object:
        options: dict[str, Any] = {}
        if dice.random() < 0.6:
            options["format"] = name
        if name in LIST_FORMATS and dice.random() < 0.3:
            options["on_error"] = "skip"
        if name in LIST_FORMATS and dice.random() < 0.2:
            options["missing"] = 0
        return examine(read(path, **options), dice)

    return use


def _use_kaldi_list(path: Path, dice: random.Random) -> object:
    """Read the lattices that a list names."""
    path.with_name("lat.ark").write_bytes(ARCHIVE)
    return examine(read(path, format="kaldi" if dice.random() < 0.6 else None), dice)


def examine(dataset: Dataset, dice: random.Random) -> str:
    """A digest of a dataset, whose features must be finite; now and then it is packed and opened again, or decoded."""
    found = digest(dataset)
    if not np.isfinite(dataset.corpus.features.values).all():
        raise WrongAnswerError("a feature that is not finite")
    if dice.random() < 0.1:
        stream = io.BytesIO()
        write_packed(dataset, stream)
        stream.seek(0)
        if digest(read_packed(stream, "packed")) != found:
            raise WrongAnswerError("another dataset after packing and opening")
    if dice.random() < 0.05 and dataset.feature_names:
        weights = [dice.choice((0.0, 1.0, -1.0, dice.uniform(-2, 2))) for _ in dataset.feature_names]
        rerank(dataset, weights)
    return found


def digest(dataset: Dataset) -> str:
    """A digest of all that a dataset holds."""
    corpus = dataset.corpus
    content = hashlib.blake2b(digest_size=16)
    for name in ("node_offsets", "edge_offsets", "tail_offsets", "tails", "label_offsets", "labels", "edge_ids"):
        content.update(np.ascontiguousarray(getattr(corpus, name)).tobytes())
    content.update(np.ascontiguousarray(corpus.features.values).tobytes())
    for array in (dataset.first_choices, dataset.scores, dataset.copies):
        content.update(b"" if array is None else np.ascontiguousarray(array).tobytes())
    texts = [
        corpus.vocabulary.tokens, dataset.feature_names, tuple(dataset.ids), dataset.references, dataset.sources,
        dataset.model, dataset.members, dataset.ids_by, dataset.omitted, dataset.unnamed, dataset.skipped,
        dataset.provenance, corpus.pruned,
    ]  # fmt: skip
    content.update(repr(texts).encode("utf-8", "backslashreplace"))
    return content.hexdigest()


# Packed files.


def _packed_files(folder: Path, kinds: dict[str, Kind]) -> list[bytes]:
    """Lists with references and scores, sparse ones, lattices, hypergraphs, and a mixture without text."""
    found = []
    for name in ("jsonl", "moses", "slf", "forest", "cdec-json", "kaldi"):
        for number, data in enumerate(kinds[name].seeds[-2:]):
            path = folder / f"to-pack-{number}"
            path.write_bytes(data)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", Note)
                    dataset = read(path, format=name)
            except InputError:  # cut off at a place where it cannot be
                continue
            stream = io.BytesIO()
            write_packed(dataset, stream)
            found.append(stream.getvalue())
    return found


def use_packed(path: Path, dice: random.Random) -> str:
    """Open a packed file and look at all of it."""
    return examine(read(path), dice)


class _UseDamaged:
    """A use of damaged files: they are refused, or the change was of no byte of the content."""

    def __init__(self, whole: list[bytes]) -> None:
        self._digests = {digest(read_packed(io.BytesIO(data), "packed")) for data in whole}

    def __call__(self, path: Path, dice: random.Random) -> object:
        found = use_packed(path, dice)
        if found not in self._digests:
            raise WrongAnswerError(f"a damaged file was answered ({found})")
        return found


def crafted(data: bytes, others: list[bytes], dice: random.Random) -> bytes:
    """A packed file with another description or other arrays, whose checksums are right: made by somebody."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = {info.filename: archive.read(info) for info in archive.infolist()}
        first, *arrays = members
        if dice.random() < 0.5:
            name = dice.choice(arrays)
            members[name] = _changed_array(members[name], dice)
        described = json.loads(members[first])
    except Exception:  # crafted before, and now too odd to be changed further
        return flipped(data, dice)
    if dice.random() < 0.7:
        described = changed_value(described, dice)
    members[first] = json_text(described, dice)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def _changed_array(content: bytes, dice: random.Random) -> bytes:
    """A file of NumPy with other numbers in it."""
    values = np.load(io.BytesIO(content))
    flat = values.reshape(-1, order="F")
    for _ in range(dice.choice((1, 1, 2, 5)) if flat.size else 0):
        place = dice.randrange(flat.size)
        if flat.dtype.kind == "f":
            flat[place] = dice.choice((np.nan, np.inf, -np.inf, 1e300 if flat.itemsize == 8 else 1e38, 0.0, -1.0))
        else:
            low, high = np.iinfo(flat.dtype).min, np.iinfo(flat.dtype).max
            near = int(flat[place]) + dice.choice((-2, -1, 1, 2))
            flat[place] = min(max(dice.choice((near, near, 0, -1, low, high, flat.size)), low), high)
    stream = io.BytesIO()
    np.save(stream, flat.reshape(values.shape, order="F"))
    return stream.getvalue()


# Scores, results, states and stores.


def _use_tsv(path: Path, dice: random.Random) -> object:
    named = path.with_suffix(".tsv")
    named.unlink(missing_ok=True)
    os.link(path, named)
    return ScoreTable.read(named)


def _result(folder: Path) -> bytes:
    lists = read(folder / "lists.moses").matched(read_references(folder / "lists.ref.0"))
    found = hulltune.tune(
        lists, metric="wer",
        search=hulltune.Climb(restarts=1, directions=2, max_rounds=3), threads=1, folds=2, replicates=2,
    )  # fmt: skip
    return json.dumps(found.to_dict()).encode()


def _use_result(path: Path, dice: random.Random) -> object:
    try:
        read_weights(path)
        return TuneResult.load(path).summary()
    except InputError:
        return LoopResult.load(path)


def _state() -> bytes:
    iteration = {
        "number": 1, "weights": {"x": 1.0}, "score": 1.0, "size": 5, "new": 5, "new_winners": 2, "empty": 0,
        "seconds_decoding": 1.0, "tuned": {"x": 2.0}, "tuned_from": 1.0, "tuned_score": 2.0, "seconds_tuning": 1.0,
    }  # fmt: skip
    state = {
        "format": "hulltune loop 1", "settings": {"metric": "bleu"}, "iterations": [iteration], "stopped": None,
        "seconds": 3.0,
    }  # fmt: skip
    return json.dumps(state).encode()


def _use_state(path: Path, dice: random.Random) -> object:
    folder = path.with_name("run")
    folder.mkdir(exist_ok=True)
    (folder / "state.json").unlink(missing_ok=True)  # some file systems wait for the disk if a file is truncated
    (folder / "state.json").write_bytes(path.read_bytes())
    return repr(RunFolder(folder).load({"metric": "bleu"}))


def _question(key: bytes) -> Question:
    return Question(key.hex(), "s", 0, None, ("r",), "c")


def _store(folder: Path) -> bytes:
    path = folder / "fuzzed.sqlite"
    with Store(path) as store:
        store.put("s", COLUMNS, IDS[:2], np.array([[1, 2], [3, 4]]))
        store.ask(COLUMNS, [_question(IDS[2])])
    return path.read_bytes()


def _use_store(path: Path, dice: random.Random) -> object:
    for leftover in (f"{path.name}-wal", f"{path.name}-shm"):
        path.with_name(leftover).unlink(missing_ok=True)
    with Store(path, timeout=0.2) as store:
        places, rows = store.get(IDS, 2)
        if not all(row == [[1, 2], [3, 4]][place] for place, row in zip(places.tolist(), rows.tolist(), strict=True)):
            raise WrongAnswerError(f"other statistics: {rows.tolist()}")
        found = [store.questions(), store.count(), store.count("s")]
        store.put("s", COLUMNS, IDS[:1], np.array([[5, 6]]))
        found.append(store.columns_of(IDS[2].hex()))
        return repr(found)


def _answers() -> bytes:
    lines = [_question(key).to_json().replace("null", "[1, 2]") for key in IDS[1:]]
    return "\n".join(lines).encode()


def _use_answers(path: Path, dice: random.Random) -> object:
    store_path = path.with_name("answered.sqlite")
    with Store(store_path) as store:
        if not store.has(IDS[0].hex()):
            store.put("s", COLUMNS, IDS[:2], np.array([[1, 2], [3, 4]]))
            store.ask(COLUMNS, [_question(IDS[2])])
        return import_answers(store, path)
