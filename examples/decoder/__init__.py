"""A small decoder that translates German into English: the test bed of the loop, and data to try things with.

It has the parts of a large decoder, at a size that runs in a second: a synchronous grammar, a smoothed language model,
a chart with a beam, and weights that decide which derivations survive in the beam. ``python examples/decoder --help``
tells how to run it; with the folder ``examples`` on the path of Python, it can be imported.
"""

from decoder.decoding import Decoder
from decoder.task import Task, made_task, small_translator
from decoder.translation import FEATURES, START_WEIGHTS, UNLIMITED, Translator

__all__ = [
    "FEATURES",
    "START_WEIGHTS",
    "UNLIMITED",
    "Decoder",
    "Task",
    "Translator",
    "made_task",
    "small_translator",
]
