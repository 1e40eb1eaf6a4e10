"""Tune a real recogniser: PocketSphinx listens to synthetic speech, and its lattices are tuned for word errors.

Run: python examples/pocketsphinx/run.py [FOLDER]      (see README.md beside this file)

1. flite or espeak-ng reads the sentences beside this file, in several voices, with some noise.
2. PocketSphinx recognises them and writes its lattices (SLF), which have acoustic scores.
3. Its own trigram model adds language scores: a lattice whose states know the last two words.
4. hulltune tunes the weights of acoustic score, language score and word count on one half of the sentences. The other
   half shows what that was worth.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import shutil
import subprocess
import sys
import wave
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
RATE = 16000
UNLIKELY = 1e-4
"""Links that are less probable than this, by the recogniser's own estimate, are left out."""
HISTORIES = 8
"""The number of pairs of last words that a node of the lattice keeps."""
START = {"acoustic": 1.0, "language": 1.0, "words": 0.0}
"""Weights that leave the log-probabilities as they are."""
DEFAULTS = {"acoustic": 1.0, "language": 9.5, "words": math.log(0.65)}
"""PocketSphinx's own weights in lattices (bestpathlw), and the logarithm of its word insertion probability (wip)."""
FLITE_VOICES, ESPEAK_VOICES = ("slt", "rms", "awb"), ("en-us", "en-gb", "en-gb-scotland")


def missing() -> str | None:
    """The first missing program, and how to get it; None if all are installed."""
    if importlib.util.find_spec("pocketsphinx") is None:
        return "pocketsphinx is not installed (pip install pocketsphinx)"
    if shutil.which("flite") is None and shutil.which("espeak-ng") is None:
        return "neither flite nor espeak-ng is installed (apt-get install flite)"
    return None


def speak(text: str, voice: str, path: Path) -> None:
    """Write synthetic speech at the recogniser's rate."""
    if shutil.which("flite"):
        subprocess.run(["flite", "-voice", voice, "-t", text, "-o", str(path)], check=True)
        return
    loud = path.with_suffix(".22k.wav")
    subprocess.run(["espeak-ng", "-v", voice, "-w", str(loud), text], check=True)
    subprocess.run(["sox", str(loud), "-r", str(RATE), str(path)], check=True)


def samples_with_noise(audio: Path, decibels: float, seed: int) -> bytes:
    """The speech with white noise this many decibels below it; without noise, synthetic voices are too easy."""
    with wave.open(str(audio)) as file:
        if file.getframerate() != RATE:
            raise SystemExit(f"{audio}: expected {RATE} samples a second, got {file.getframerate()}")
        speech = np.frombuffer(file.readframes(file.getnframes()), dtype="<i2").astype(np.float64)
    loudness = math.sqrt(float(np.mean(speech**2))) * 10.0 ** (-decibels / 20.0)
    noisy = speech + np.random.default_rng(seed).normal(0.0, loudness, len(speech))
    return np.clip(np.rint(noisy), -32768, 32767).astype("<i2").tobytes()


def recognise(decoder: Any, samples: bytes, lattice: Path) -> str:
    """The recogniser's own best guess; its lattice goes to a file."""
    decoder.start_utt()
    decoder.process_raw(samples, full_utt=True)
    decoder.end_utt()
    guess = decoder.hyp()  # this first: it computes the probabilities in the lattice
    decoder.get_lattice().write_htk(str(lattice))
    return plain(guess.hypstr) if guess else ""


def plain(text: str) -> str:
    """A word without the mark of its pronunciation: read for read(2)."""
    return " ".join(word.partition("(")[0] for word in text.split())


@dataclass
class Lattice:
    """A lattice of PocketSphinx: words on nodes, acoustic scores and posterior probabilities on links."""

    words: dict[int, str] = field(default_factory=dict)
    links: dict[int, list[tuple[int, float]]] = field(default_factory=dict)
    start: int = 0
    end: int = 0


def read_lattice(path: Path) -> Lattice:
    """The probable part of a lattice."""
    lattice = Lattice()
    for line in path.read_text().splitlines():
        fields = dict(part.split("=", 1) for part in line.split() if "=" in part and not line.startswith("#"))
        if "start" in fields:
            lattice.start = int(fields["start"])
        elif "end" in fields:
            lattice.end = int(fields["end"])
        elif "I" in fields:
            lattice.words[int(fields["I"])] = plain(fields["W"])
        elif "J" in fields and float(fields["p"]) >= UNLIKELY:
            lattice.links.setdefault(int(fields["S"]), []).append((int(fields["E"]), float(fields["a"])))
    return lattice


State = tuple[int, tuple[str, ...]]
"""A node, and the last two words on the way to it."""
Link = tuple[State, State, str, float, float]
"""Source, target, word, acoustic score, language score."""


def with_language_scores(lattice: Lattice, model: Any, logarithms: Any) -> list[Link]:
    """The links of the lattice whose states know the last two words; silence and noise do not count.

    Each node keeps its HISTORIES best states, by the score of the best path to them.
    """

    def language(word: str, history: tuple[str, ...]) -> float:
        return float(logarithms.log_to_ln(model.prob([word, *reversed(history)])))

    first: State = (lattice.start, ("<s>",))
    reached: dict[int, dict[State, float]] = {lattice.start: {first: 0.0}}
    links: list[Link] = []
    kept: set[State] = set()
    for node in in_order(lattice):
        states = sorted(reached[node].items(), key=lambda item: -item[1])[:HISTORIES]
        kept.update(state for state, _ in states)
        for state, so_far in states:
            history = state[1]
            for target, acoustic in lattice.links.get(node, ()):
                word, score, then = lattice.words[target], 0.0, history
                if target == lattice.end:
                    word, score, then = "!NULL", language("</s>", history), ()
                elif word[0] in "!<+[":
                    word = "!NULL"
                else:
                    score, then = language(word, history), (*history, word)[-2:]
                following = (target, then)
                links.append((state, following, word, acoustic, score))
                total = so_far + DEFAULTS["acoustic"] * acoustic + DEFAULTS["language"] * score
                best = reached.setdefault(target, {})
                best[following] = max(best.get(following, -math.inf), total)
    return [link for link in links if link[1] in kept]


def in_order(lattice: Lattice) -> list[int]:
    """The reachable nodes, each after all nodes that lead to it."""
    order: list[int] = []
    done: set[int] = set()
    waiting = [(lattice.start, iter(lattice.links.get(lattice.start, ())))]
    done.add(lattice.start)
    while waiting:
        node, targets = waiting[-1]
        following = next((target for target, _ in targets if target not in done), None)
        if following is None:
            order.append(node)
            waiting.pop()
        else:
            done.add(following)
            waiting.append((following, iter(lattice.links.get(following, ()))))
    return order[::-1]


def write_lattice(path: Path, links: Sequence[Link]) -> None:
    """Write SLF with words on links. The first link leaves the start; the end is the one state without last words."""
    numbers: dict[State, int] = {}
    for source, target, *_ in links:
        numbers.setdefault(source, len(numbers))
        numbers.setdefault(target, len(numbers))
    lines = ["VERSION=1.0", f"UTTERANCE={path.stem}", "start=0"]
    lines += [f"end={number}" for (_, history), number in numbers.items() if not history]
    lines += [f"N={len(numbers)} L={len(links)}"]
    lines += [f"I={number}" for number in numbers.values()]
    lines += [
        f"J={number} S={numbers[source]} E={numbers[target]} W={word} a={acoustic!r} l={language!r}"
        for number, (source, target, word, acoustic, language) in enumerate(links)
    ]
    path.write_text("\n".join(lines) + "\n")


def make_lattices(
    folder: Path, sentences: Sequence[str], voices: Sequence[str], decibels: float
) -> tuple[list[str], list[str]]:
    """Make a lattice for each sentence in each voice; return references and the recogniser's own guesses."""
    from pocketsphinx import Decoder

    decoder = Decoder(samprate=RATE, loglevel="FATAL")
    model, logarithms = decoder.get_lm(), decoder.logmath
    for name in ("audio", "raw", "lattices"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    references: list[str] = []
    guesses: list[str] = []
    for number, sentence in enumerate(sentences):
        for voice in voices:
            utterance = f"{number:03d}-{voice}"
            audio, raw = folder / "audio" / f"{utterance}.wav", folder / "raw" / f"{utterance}.slf"
            speak(sentence, voice, audio)
            samples = samples_with_noise(audio, decibels, seed=len(guesses))
            guesses.append(recognise(decoder, samples, raw))
            links = with_language_scores(read_lattice(raw), model, logarithms)
            write_lattice(folder / "lattices" / f"{utterance}.slf", links)
            references.append(sentence)
    (folder / "references.txt").write_text("\n".join(references) + "\n")
    return references, guesses


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Tune PocketSphinx on synthetic speech.")
    parser.add_argument("folder", nargs="?", default="out/pocketsphinx", help="where everything goes")
    parser.add_argument("--sentences", type=int, help="only so many [all]")
    parser.add_argument("--voices", type=int, default=3, help="of the synthesiser [3]")
    parser.add_argument("--noise", type=float, default=27.0, help="decibels below the speech [27]")
    options = parser.parse_args(arguments)
    reason = missing()
    if reason is not None:
        print(f"skipped: {reason}")
        return 0
    from hulltune import read, score, tune

    sentences = (HERE / "sentences.txt").read_text().splitlines()[: options.sentences]
    voices = (FLITE_VOICES if shutil.which("flite") else ESPEAK_VOICES)[: options.voices]
    half, folder = len(sentences) // 2, Path(options.folder)
    sets = {}
    for name, part in (("dev", sentences[:half]), ("heldout", sentences[half:])):
        references, guesses = make_lattices(folder / name, part, voices, options.noise)
        guessed = [{"candidates": [{"text": text, "features": {"one": 1.0}}]} for text in guesses]
        wer = score(guessed, {"one": 1.0}, references, metric="wer")
        print(f"{name}: {len(references)} utterances, the recogniser's own guesses have a WER of {wer:.4f}")
        sets[name] = (folder / name / "lattices", references)
    result = tune(
        sets["dev"][0],
        sets["dev"][1],
        metric="wer",
        start=START,
        heldout=read(*sets["heldout"]),
        also=(),
    )
    result.save(folder / "weights.json")
    print(result.summary())
    for name, (lattices, references) in sets.items():
        own = score(lattices, DEFAULTS, references, metric="wer")
        print(f"{name}: PocketSphinx's own weights, which its makers chose by hand, score {own:.4f} on these lattices")
    return 0


if __name__ == "__main__":
    sys.exit(main())
