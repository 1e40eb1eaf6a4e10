"""A person is the metric: tune two weights of a small translation system by ratings from 1 to 5.

The search asks only for outputs that can win for some weights. It stops, with exit code 3, when it meets
outputs that nobody has rated, and leaves them in questions.jsonl; once the answers are imported it goes on
where it was.

    python examples/person_as_metric.py                  the whole story, with an imaginary person's ratings
    python examples/person_as_metric.py run FOLDER       search; ends with 3 while ratings are missing
    python examples/person_as_metric.py answer FOLDER    the imaginary person fills in questions.jsonl
    python examples/person_as_metric.py import FOLDER    put the filled-in answers into the store
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hulltune import Corpus, Dataset, Forest, Problem, line_search
from hulltune.metrics import Ask, Store, Unanswered, import_answers

# The candidates of each source: a text, and the scores of a translation, a language and a length model.
CANDIDATES: dict[str, list[tuple[str, tuple[float, float, float]]]] = {
    "Wo ist der Bahnhof?": [
        ("Where the station is?", (-1.0, -5.0, 0.2)),
        ("Where is the station?", (-1.6, -2.1, 0.2)),
        ("Where is the train?", (-4.0, -1.9, 0.2)),
        ("Where is it?", (-6.5, -1.0, -1.0)),
        ("Where does the station be?", (-2.5, -5.5, 0.3)),
        ("The station is where?", (-2.2, -3.9, 0.2)),
    ],
    "Ich habe keine Ahnung.": [
        ("I have no idea.", (-1.5, -1.8, 0.0)),
        ("I have no notion.", (-1.2, -4.6, 0.0)),
        ("No idea.", (-3.1, -1.0, -0.8)),
        ("I do not have any idea at all.", (-2.6, -2.4, 1.1)),
        ("I have none idea.", (-1.9, -5.2, 0.0)),
        ("Have I no idea.", (-2.4, -4.1, 0.0)),
    ],
    "Das ist mir Wurst.": [
        ("That is me sausage.", (-0.9, -7.0, 0.0)),
        ("That is sausage to me.", (-1.3, -6.1, 0.1)),
        ("I do not care.", (-3.4, -1.2, 0.0)),
        ("I care.", (-6.2, -1.1, -0.9)),
        ("This is to me the sausage.", (-2.0, -6.4, 0.2)),
        ("That is all the same to me, really.", (-3.3, -2.9, 1.2)),
    ],
}
SOURCES = list(CANDIDATES)

# The ratings of the imaginary person. A real one would read questions.jsonl and write the numbers into it.
OPINIONS = {
    "Where is the station?": 5,
    "Where the station is?": 3,
    "I have no idea.": 5,
    "No idea.": 4,
    "I do not care.": 4,
    "I have no notion.": 2,
    "That is all the same to me, really.": 5,
    "I do not have any idea at all.": 3,
}


FEATURES = ["translation", "language", "length"]


def run(folder: Path) -> NDArray[np.float64]:
    """Search along two lines, one after the other; raises Unanswered where ratings are missing."""
    metric = Ask(question="How good is the translation, from 1 to 5?")
    corpus = Corpus.pack(
        Forest.from_nbest([text for text, _ in c], [scores for _, scores in c], feature_names=FEATURES)
        for c in CANDIDATES.values()
    )
    with Store(folder / "ratings.sqlite") as store:
        data = Dataset(
            ids=range(len(corpus)),
            corpus=corpus,
            first_choices=np.zeros(len(corpus), dtype=np.int64),
            sources=tuple(SOURCES),
        )
        problem = Problem.of(data, metric, store=store, questions=folder / "questions.jsonl")
        weights = np.array([1.0, 0.0, 0.0])
        for feature in FEATURES[1:]:
            found = line_search(problem, weights, {feature: 1.0}, interval=(0.0, np.inf))
            weights = found.weights
            print(f"weights {np.round(weights, 3).tolist()}: mean rating {-found.loss:.2f}")
        candidates = sum(map(len, CANDIDATES.values()))
        print(f"{store.count(metric.signature)} of {candidates} candidates had to be rated")
    return weights


def answer(folder: Path) -> None:
    """Fill in questions.jsonl as the imaginary person would: 1 for everything without an opinion."""
    path = folder / "questions.jsonl"
    questions = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    for question in questions:
        question["answer"] = OPINIONS.get(question["output"], 1)
    text = "".join(json.dumps(question, ensure_ascii=False) + "\n" for question in questions)
    path.write_text(text, encoding="utf-8")
    print(f"the person rates {len(questions)} outputs")


def import_all(folder: Path) -> None:
    with Store(folder / "ratings.sqlite") as store:
        print(f"imported {import_answers(store, folder / 'questions.jsonl').answered} answers")


def whole_story(folder: Path) -> None:
    while True:
        try:
            run(folder)
            return
        except Unanswered as stop:
            print(str(stop).replace(str(folder), "…"))
            answer(folder)
            import_all(folder)


def main(arguments: list[str]) -> int:
    if not arguments:
        with tempfile.TemporaryDirectory() as folder:
            whole_story(Path(folder))
        return 0
    commands = {"run": run, "answer": answer, "import": import_all}
    if len(arguments) != 2 or arguments[0] not in commands:
        print(__doc__, file=sys.stderr)
        return 2
    try:
        commands[arguments[0]](Path(arguments[1]))
    except Unanswered as stop:
        print(stop, file=sys.stderr)
        return stop.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
