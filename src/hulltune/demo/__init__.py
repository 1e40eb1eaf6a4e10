"""A small decoder that translates German into English: the test bed of the loop, and its default decoder.

It has the parts of a large decoder, at a size that runs in a second: a synchronous grammar, a smoothed language model,
a chart with a beam, and weights that decide which derivations survive in the beam.
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
