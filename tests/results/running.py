"""Run cases with a source tree, and keep the parts of their answers that must stay the same."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
import re
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from hulltune.arrays import plain_sum
from tests.results.cases import Case
from tests.results.files import write_all

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
SOURCE = ROOT / "src"
DATA = ROOT.parent / "shared" / "data"
RECORDED = HERE / "recorded.json"
LONGEST = 400
"""Parts of an answer with more characters than this are kept by their digest."""

ASKS = 3
"""The exit code of a run that waits for the answers to questions."""

_TUNED = (
    "score", "baseline", "start_score", "oracle", "oracle_kind", "metric", "higher_is_better", "seed", "sentences",
    "candidates", "line_searches", "weights", "start", "history", "gain", "without", "others", "heldout", "folds",
    "replicates", "interrupted", "certificate", "oracle_bound", "ended", "sensitivity",
)  # fmt: skip
_LOOPED = (
    "score", "start_score", "best", "stopped", "metric", "seed", "sentences", "unit", "empty", "weights", "start",
    "heldout", "iterations",
)  # fmt: skip
_TIMES = ("seconds", "seconds_decoding", "seconds_tuning")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+(?:e[-+]?[0-9]+)?|e[-+]?[0-9]+)")
"""A number that is written as a real one: others are whole, and have no last bits."""
_VERSION = re.compile(r"\|version:[^|\s\"]*|(?<=english-snowball)-[0-9.]+|\[sacrebleu-[\d.]+\]")
"""The versions of programs in the signature of a metric."""


class Commands:
    """A process that runs command lines with the code of a source tree, in a folder with all files of the cases."""

    def __init__(self, source: Path, folder: Path, level: str | None) -> None:
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", os.defpath)])  # for a decoder
        here = {"PYTHONPATH": str(source), "OPENBLAS_NUM_THREADS": "1", "PATH": path}
        environment = {**os.environ, **here}
        self.folder = folder
        self._process = subprocess.Popen(
            [sys.executable, str(HERE / "driver.py"), *([level] if level else [])],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            cwd=folder, env=environment, text=True, encoding="utf-8",
        )  # fmt: skip

    def run(self, arguments: tuple[str, ...]) -> tuple[int, str, str]:
        """The exit code of a command, its standard output and its standard error."""
        answer = self._ask(arguments)
        return answer["code"], answer["out"], answer["err"]

    def kernels(self) -> list[str]:
        """The names of the kernels called so far."""
        found: list[str] = self._ask("kernels")
        return found

    def _ask(self, request: tuple[str, ...] | str) -> Any:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the process that runs commands died of: {request}")
        return json.loads(line)

    def close(self) -> None:
        """End the process."""
        self._process.communicate()


@contextmanager
def commands(source: Path = SOURCE, level: str | None = None) -> Iterator[Commands]:
    """Commands with the code of ``source``, a folder with the package hulltune in it, and kernels of a level."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_all(folder)
        (folder / "decoder").symlink_to(ROOT / "examples" / "decoder")
        if DATA.is_dir():
            (folder / "shared").symlink_to(DATA)
        running = Commands(source, folder, level)
        try:
            yield running
        finally:
            running.close()


def environment() -> dict[str, Any]:
    """The causes of other answers besides the code of hulltune: versions, the processor's way of adding, and Python's
    arithmetic.
    """
    simd: Any = np.show_config(mode="dicts")
    versions = {name: metadata.version(name) for name in ("numpy", "numba", "rapidfuzz", "scipy", "snowballstemmer")}
    return {
        "python": platform.python_version(), **versions, "simd": simd["SIMD Extensions"]["found"],
        "arithmetic": arithmetic(),
    }  # fmt: skip


def arithmetic() -> str:
    """A digest of values of exp and log, whose last bit no standard fixes, and of their sums: BLEU is made of these."""
    values = [function(k / 4096) for k in range(1, 40960, 7) for function in (math.exp, math.log)]
    values += [plain_sum(values[k : k + 4]) for k in range(0, len(values), 4)]
    return hashlib.sha256(struct.pack(f"<{len(values)}d", *values)).hexdigest()[:16]


def rounded_alike(recorded: Any, found: Any) -> bool:
    """Whether answers differ in the last bits of their numbers alone; of long ones, see ``_digested``."""
    if isinstance(recorded, dict) and isinstance(found, dict) and list(recorded) == list(found):
        if "sha256" in recorded:
            same_text = all(recorded[name] == found[name] for name in ("length", "words", "reals"))
            size = max(recorded["sums"][0], 1.0)
            pairs = zip(recorded["sums"], found["sums"], strict=True)
            return same_text and all(abs(one - other) <= 1e-12 * size for one, other in pairs)
        return all(rounded_alike(recorded[name], found[name]) for name in recorded)
    if isinstance(recorded, list) and isinstance(found, list) and len(recorded) == len(found):
        return all(map(rounded_alike, recorded, found))
    if isinstance(recorded, str) and isinstance(found, str):
        texts = [_NUMBER.split(recorded), _NUMBER.split(found)]
        numbers = [[float(each) for each in _NUMBER.findall(text)] for text in (recorded, found)]
        return texts[0] == texts[1] and all(map(rounded_alike, *numbers))
    if isinstance(recorded, float) and isinstance(found, float):
        return recorded == found or math.isclose(recorded, found, rel_tol=1e-12, abs_tol=1e-12)
    return bool(canonical(recorded) == canonical(found))


def missing_data(case: Case) -> str | None:
    """The reason why a case cannot run here, or None."""
    absent = [name for name in case.needs if not (DATA / name).is_dir()]
    return f"needs the data {', '.join(f'../shared/data/{name}' for name in absent)}" if absent else None


def answer(case: Case, running: Commands, *, whole: bool = False) -> list[Any]:
    """The parts that must stay the same: the exit code and the output of each command, then the content of its files.

    Long parts are replaced by their digest, unless ``whole``.
    """
    found: list[Any] = []
    for command in case.commands:
        code, out, err = running.run(command)
        if code not in (0, ASKS):
            raise RuntimeError(f"hulltune {' '.join(command)}: exit code {code}: {err.strip()}")
        said = _reduced(command[0], out)
        found.append({"code": code, "says": said} if code else said)
    found += [_content(running.folder / name) for name in case.files]
    return found if whole else [_shortened(part) for part in found]


def canonical(value: Any) -> str:
    """A text that is equal for equal answers alone: it tells −0 from 0, and NaN is equal to itself."""
    return json.dumps(value, ensure_ascii=False, sort_keys=False)


def _reduced(command: str, out: str) -> Any:
    """The answer of a command without times and versions."""
    out = _VERSION.sub("", out)
    if command not in ("tune", "loop") or not out:
        return out
    result = json.loads(out)
    kept = {name: result[name] for name in (_TUNED if command == "tune" else _LOOPED)}
    if command == "tune":
        kept["history"] = [list(step.values()) for step in kept["history"]]
        kept["others"] = {signature.partition("|")[0]: scores for signature, scores in kept["others"].items()}
    return _without_times({name: value for name, value in kept.items() if value not in (None, False, {}, [])})


def _without_times(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_times(part) for name, part in value.items() if name not in _TIMES}
    return [_without_times(part) for part in value] if isinstance(value, list) else value


def _shortened(value: Any) -> Any:
    """A text or the parts of a result; long ones are replaced by their digest."""
    if isinstance(value, dict):
        return {name: _digested(part, 2 * LONGEST if name == "weights" else LONGEST) for name, part in value.items()}
    return _digested(value, LONGEST)


def _digested(value: Any, longest: int) -> Any:
    """A value, or of a long one: its length, its digest, and what is left to compare where the digest differs because
    another arithmetic has other last bits. These are a digest of the text around its real numbers, how many there are,
    the sum of their sizes, and two sums with weights that differ from place to place, so that no change of a number
    goes unseen.
    """
    text = value if isinstance(value, str) else canonical(value)
    if len(text) <= longest:
        return value
    reals = [float(each) for each in _NUMBER.findall(text)]
    sums = [math.fsum(map(abs, reals))]
    sums += [math.fsum(each * weight(place) for place, each in enumerate(reals)) for weight in (math.cos, math.sin)]
    return {
        "length": text.count("\n") if isinstance(value, str) else len(value), "sha256": _digest(text),
        "words": _digest(_NUMBER.sub("#", text)), "reals": len(reals), "sums": sums,
    }  # fmt: skip


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()[:32]


def _content(path: Path) -> str:
    """The content of a file, or of all files of a folder; of questions only sentence and output, sorted."""
    if path.is_dir():
        return "".join(f"{file.name}\n{file.read_text(encoding='utf-8')}" for file in sorted(path.iterdir()))
    text = path.read_text(encoding="utf-8")
    if path.name == "asked.jsonl":
        questions = [json.loads(line) for line in text.splitlines()]
        text = "\n".join(sorted(canonical([each["sentence"], each["output"]]) for each in questions))
    return text
