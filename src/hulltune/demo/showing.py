"""The two demos of ``hulltune demo``: from a made-up task to tuned weights, their scores, and the error surface."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from hulltune.data.dataset import Dataset
from hulltune.data.forest import feature_vector
from hulltune.demo.builtin import BuiltInDecoder
from hulltune.demo.model import Task, built_in_task
from hulltune.demo.translation import START_WEIGHTS
from hulltune.formats import read, write_jsonl
from hulltune.formats.reading import Part
from hulltune.formats.streams import written_atomically
from hulltune.loop import LoopProgress, LoopResult, tune_loop
from hulltune.loop.folder import outputs
from hulltune.loop.hypotheses import Hypotheses
from hulltune.search.climb import Climb
from hulltune.search.problem import Problem
from hulltune.simulate import simulated_task
from hulltune.tuning import Progress, rerank, score, tune
from hulltune.tuning.inputs import as_dataset
from hulltune.wording import score_text


@dataclass(frozen=True)
class Shown:
    """The result of a demo: a text, and the data for its picture."""

    text: str
    interrupted: bool
    weights: Mapping[str, float]
    data: Callable[[], Dataset]
    metric: str
    feature: str
    """The feature whose weight the picture varies."""

    def draw(self, path: Path) -> str:
        """Draw the metric along the weight of the feature, and say where; or say what is needed to draw."""
        if find_spec("matplotlib") is None:
            return "pip install matplotlib for a picture of the error surface"
        from hulltune.tuning.surfaces import along_feature

        problem = Problem.of(self.data(), self.metric)
        vector = feature_vector(dict(self.weights), problem.feature_names, "weights")
        along_feature(problem, vector, self.feature).plot().save(path)
        return f"the error surface is in {path}"


def tune_decoder(
    folder: Path,
    *,
    sentences: int,
    iterations: int,
    forests: bool,
    seed: int,
    progress: Callable[[LoopProgress], None] | None,
) -> Shown:
    """Decode, tune and decode again on one set of sentences; another set shows the gain on unseen sentences."""
    task, unseen = (built_in_task(sentences, seed=2 * seed + part) for part in (0, 1))
    for name, made in (("dev", task), ("heldout", unseen)):
        _write_lines(made.sources, folder / f"{name}.de")
        _write_lines(made.references, folder / f"{name}.en")
    run_folder = folder / "loop"
    if (run_folder / "state.json").exists():  # a demo never resumes an earlier run
        shutil.rmtree(run_folder)
    result = tune_loop(
        BuiltInDecoder(task.sources, forests=forests),
        list(task.references),
        start=START_WEIGHTS,
        metric="bleu",
        iterations=iterations,
        least_gain=0.05,
        folder=run_folder,
        heldout=BuiltInDecoder(unseen.sources, size=1, forests=forests),
        heldout_references=list(unseen.references),
        search=Climb(restarts=7),
        seed=seed,
        progress=progress,
    )
    weights = result.save(folder / "demo.weights.json")
    told = [result.summary()]
    if result.heldout is not None:
        told += _made_right(unseen, run_folder, result)
    told += ["", f"the sentences are in {folder}, what the decoder found in {run_folder},", f"the weights in {weights}"]

    def everything() -> Dataset:
        return as_dataset(_everything_found(result, run_folder), list(task.references))

    return Shown("\n".join(told), result.interrupted, result.weights, everything, "bleu", "words")


def _made_right(unseen: Task, run_folder: Path, result: LoopResult) -> list[str]:
    """The first held-out sentence that tuning made right, if there is one."""
    before, after = (
        rerank(read(outputs(run_folder / f"heldout-iter-{k:03d}")), weights)
        for k, weights in ((1, result.start), (result.best, result.weights))
    )
    for source, reference, first, second in zip(unseen.sources, unseen.references, before, after, strict=True):
        if first != reference and second == reference:
            return ["", f"held out  {source}", f"  start   {first}", f"  tuned   {second}"]
    return []


def _everything_found(result: LoopResult, run_folder: Path) -> Dataset:
    """The hypotheses of all iterations."""
    hypotheses = Hypotheses()
    for record in result.iterations:
        files = outputs(run_folder / f"iter-{record.number:03d}")
        hypotheses = hypotheses.added(read(files), [Part(tuple(files))])
    return hypotheses.union


def tune_lists(
    folder: Path, *, sentences: int, candidates: int, seed: int, progress: Callable[[Progress], None] | None
) -> Shown:
    """Tune a simulated reranking task, whose best weights are known."""
    task = simulated_task(sentences=sentences, candidates=candidates, seed=seed)
    unseen = simulated_task(sentences=sentences, candidates=candidates, seed=seed + 1)
    write_jsonl(task.lists, folder / "demo.jsonl")
    result = tune(task.lists, metric="wer", seed=seed, heldout=unseen.lists, also=(), progress=progress)
    weights = result.save(folder / "demo.weights.json")
    known = score(task.lists, task.optimum, metric="wer")
    share = (result.baseline - result.score) / (result.baseline - known) if result.baseline != known else 1.0
    told = [
        result.summary(),
        "",
        f"known optimum {score_text(known)}: tuning found {share:.1%} of the possible gain",
        f"the lists are in {folder / 'demo.jsonl'}, the weights in {weights}",
    ]
    return Shown("\n".join(told), result.interrupted, result.weights, lambda: as_dataset(task.lists), "wer", "backward")


def _write_lines(lines: Sequence[str], path: Path) -> None:
    with written_atomically(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())
