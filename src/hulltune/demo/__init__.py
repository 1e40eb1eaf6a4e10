"""A small decoder that translates: the test bed of the loop, and what it runs where no other decoder is named.

It has what large decoders have, at a size that runs in a second: a synchronous grammar, a smoothed language model, a
chart with a beam, and weights that decide what survives in it.
"""

from hulltune.demo.builtin import BuiltInDecoder
from hulltune.demo.language_model import LanguageModel
from hulltune.demo.model import Task, built_in_task, built_in_translator
from hulltune.demo.output import Lattice, translate_to_forests, translate_to_lattices, translate_to_lists
from hulltune.demo.translation import FEATURES, START_WEIGHTS, UNLIMITED, Translator

__all__ = [
    "FEATURES",
    "START_WEIGHTS",
    "UNLIMITED",
    "BuiltInDecoder",
    "LanguageModel",
    "Lattice",
    "Task",
    "Translator",
    "built_in_task",
    "built_in_translator",
    "translate_to_forests",
    "translate_to_lattices",
    "translate_to_lists",
]
