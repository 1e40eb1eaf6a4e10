"""The decoder in the loop: decode, merge, tune, until nothing changes."""

from hulltune.loop.command import CommandDecoder
from hulltune.loop.jobs import Jobs
from hulltune.loop.processes import DecoderError
from hulltune.loop.result import Iteration, LoopProgress, LoopResult
from hulltune.loop.run import tune_loop
from hulltune.loop.weights_template import WeightsFormat

__all__ = [
    "CommandDecoder",
    "DecoderError",
    "Iteration",
    "Jobs",
    "LoopProgress",
    "LoopResult",
    "WeightsFormat",
    "tune_loop",
]
