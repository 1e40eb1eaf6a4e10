"""JSON that a kernel reads: its bytes as the kernel takes them, the strings in it, and the words of complaints."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hulltune.errors import InputError
from hulltune.formats.numbers import shown
from hulltune.formats.source_text import Integers, SourceText


class JsonText:
    """A stretch of a file that is one JSON value; ``expected`` ends the messages about what is none. Checked to be
    UTF-8.
    """

    def __init__(self, source: SourceText, expected: str) -> None:
        from hulltune.kernels.json_text import PADDING

        self.source = source
        self._expected = expected
        if not source.data.isascii():
            source.text(0, len(source.data))
        self._has_escapes = b"\\" in source.data
        length = len(source.data)
        spare = self._has_escapes * (length + PADDING)  # padded too, because kernels compare words of eight bytes
        self.buffer: NDArray[np.uint8] = np.empty(length + PADDING + spare, dtype=np.uint8)
        self.buffer[:length] = source.array
        self.buffer[length : length + PADDING] = 0

    def texts(self, places: Integers) -> list[str]:
        """The distinct strings that a kernel found: rows of (start, stop, hash); some may have a lone surrogate."""
        if not self._has_escapes:
            return self.source.texts(places)
        data = self.buffer.data
        return [str(data[start:stop], "utf-8", "surrogatepass") for start, stop in places[:, :2].tolist()]

    def value(self, start: int, stop: int) -> Any:
        """What the kernel has passed over; numbers beyond those of nodes and words are not kept to the last digit."""
        return json.loads(self.source.data[start:stop], parse_int=_short_integer)

    def got(self, position: int) -> str:
        """The value at a place, for a message; raises the complaint if there is none."""
        text = self.source.text(position, len(self.source.data))
        try:
            value, _ = json.JSONDecoder(parse_int=_short_integer).raw_decode(text)
        except RecursionError:
            return "a value that is nested too deeply"
        except json.JSONDecodeError as error:
            raise self._fault(position + len(text[: error.pos].encode()), error.msg) from None
        return shown(value)

    def complaint(self, code: int, position: int) -> InputError:
        """The error for what is no JSON, from a code of the kernels' module json_text."""
        from hulltune.kernels import json_text as kernel

        reasons = {
            kernel.NO_VALUE: "expected a value",
            kernel.NO_KEY: "expected a key in double quotes",
            kernel.NO_COLON: "expected ':' after a key",
            kernel.NO_COMMA: "expected ',' or a closing bracket",
            kernel.OPEN_STRING: "a string ends in a control character; expected its quotes to be closed",
            kernel.BAD_ESCAPE: "a backslash that begins no escape",
            kernel.TOO_DEEP: f"nested too deeply, beyond {kernel.DEEPEST} brackets",
            kernel.EXTRA: "more after the end of the value",
        }
        return self._fault(position, reasons[code])

    def _fault(self, position: int, reason: str) -> InputError:
        cut = " (is the file cut off?)" if not self.source.data[position:].strip() else ""
        if cut:  # where the text ends, not the blanks and line ends after it
            position = len(self.source.data[:position].rstrip())
        line_start = self.source.data.rfind(b"\n", 0, position) + 1
        column = len(self.source.text(line_start, position)) + 1
        return self.source.fault(position, f"no JSON at column {column}: {reason}{cut}; {self._expected}")


def _short_integer(digits: str) -> int | float:
    """Python refuses to make an integer of thousands of digits."""
    return int(digits) if len(digits) < 20 else float(digits)
