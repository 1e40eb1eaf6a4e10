"""Tokens as small integers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import count, filterfalse, pairwise
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hulltune.arrays import Bytes, Int32s, Int64s
from hulltune.errors import InputError

FEW = 1 << 16
"""Up to this many packed tokens are decoded all at once: the words of forests, which are asked for again and again."""
MOSTLY = 4
"""A stretch of packed texts is decoded as one if at least one in this many of its bytes is asked for."""


class Vocabulary:
    """A growing numbering of tokens from 0. Forests that are packed together share one.

    Tokens that were added by ``id`` or ``ids`` have one number each. Packed tokens (``Vocabulary.packed``: the texts of
    candidate lists, or a packed file) are decoded when they are asked for, and no Python object is made for the
    others; a text may be packed several times, once for each list that has it.

    >>> from hulltune import Vocabulary
    >>> vocabulary = Vocabulary()
    >>> vocabulary.ids(["a", "house", "a"])
    [0, 1, 0]
    >>> vocabulary.words([1, 0])
    ('house', 'a')
    """

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        self._bytes: Bytes = np.zeros(0, dtype=np.uint8)
        self._offsets: Int64s = np.zeros(1, dtype=np.int64)
        # The number of packed tokens and the tokens after them, in one tuple: threads see both change, or neither.
        self._state: tuple[int, list[str]] = (0, list(dict.fromkeys(tokens)))
        self._numbers: dict[str, int] | None = None
        self._encoded: tuple[Bytes, Int64s] | None = None

    @staticmethod
    def packed(data: Bytes, offsets: Int64s) -> Vocabulary:
        """A vocabulary over UTF-8 texts laid end to end: number i is ``data[offsets[i]:offsets[i + 1]]``. No copy."""
        vocabulary = Vocabulary()
        vocabulary._bytes, vocabulary._offsets = data, offsets
        vocabulary._state = (len(offsets) - 1, [])
        return vocabulary

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_numbers": None, "_encoded": None}  # both are made again when they are asked for

    @property
    def _ids(self) -> dict[str, int]:
        """The number of every token; the first number of tokens that are equal."""
        if self._numbers is None:
            numbers: dict[str, int] = {}
            for number, token in enumerate(self.tokens):
                numbers.setdefault(token, number)
            self._numbers = numbers
        return self._numbers

    def id(self, token: str) -> int:
        """The number of ``token``, which is added if it is new."""
        known = self._ids
        number = known.get(token)
        if number is None:
            packed, tokens = self._state
            number = known[token] = packed + len(tokens)
            tokens.append(token)
        return number

    def ids(self, tokens: Sequence[str]) -> list[int]:
        """The numbers of many tokens; new ones are added in this order."""
        known, (packed, all_tokens) = self._ids, self._state
        numbers: list[Any] = list(map(known.get, tokens))  # nothing is faster, be they known or new
        if None in numbers:
            new = dict.fromkeys(filterfalse(known.__contains__, tokens))
            known.update(zip(new, count(packed + len(all_tokens))))
            all_tokens.extend(new)
            numbers = list(map(known.__getitem__, tokens))
        return numbers

    def __getitem__(self, number: int) -> str:
        return self.words([range(len(self))[number]])[0]

    def __len__(self) -> int:
        packed, tokens = self._state
        return packed + len(tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def words(self, numbers: Iterable[int] | NDArray[Any]) -> tuple[str, ...]:
        """The tokens with these numbers. O(their size), once a small vocabulary is decoded."""
        packed, tokens = self._state
        if 0 < packed <= FEW:
            packed, tokens = self._state = (0, [*self._decoded(np.arange(packed)), *tokens])
        if not packed:
            wanted = numbers.tolist() if isinstance(numbers, np.ndarray) else numbers
            return tuple([tokens[number] for number in wanted])
        array = np.asarray(numbers if isinstance(numbers, (np.ndarray, list)) else list(numbers), dtype=np.int64)
        if not tokens or array.max(initial=-1) < packed:
            return tuple(self._decoded(array))
        words = np.empty(len(array), dtype=object)
        stored = array < packed
        words[stored] = self._decoded(array[stored])
        words[~stored] = [tokens[number - packed] for number in array[~stored].tolist()]
        return tuple(words.tolist())

    def _decoded(self, numbers: Int64s) -> list[str]:
        """The packed tokens with these numbers, decoded one by one or as one stretch (MOSTLY)."""
        starts, ends = self._offsets[numbers], self._offsets[numbers + 1]
        if not len(numbers):
            return []
        first, last = int(starts.min()), int(ends.max())
        try:
            if int((ends - starts).sum()) * MOSTLY >= last - first:
                data = self._bytes[first:last].tobytes()
                pairs = zip((starts - first).tolist(), (ends - first).tolist(), strict=True)
                if data.isascii():
                    text = data.decode("ascii")
                    return [text[start:end] for start, end in pairs]
                return [data[start:end].decode("utf-8") for start, end in pairs]
            memory = self._bytes.data
            return [str(memory[s:e], "utf-8") for s, e in zip(starts.tolist(), ends.tolist(), strict=True)]
        except UnicodeDecodeError:  # readers refuse such texts, so this is a damaged packed file
            raise InputError("a text that is not UTF-8: the packed file is damaged; pack it again") from None

    def as_packed(self) -> tuple[Bytes, Int64s]:
        """All tokens as UTF-8 texts laid end to end, and their offsets; no copy if all are packed."""
        packed, tokens = self._state
        if packed and not tokens:
            return self._bytes, self._offsets
        encoded = [token.encode("utf-8") for token in self.tokens]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(token) for token in encoded], out=offsets[1:])
        return np.frombuffer(bytearray(b"".join(encoded)), dtype=np.uint8), offsets

    def encoded(self) -> tuple[Bytes, Int64s]:
        """All tokens as by ``as_packed``, kept for the next call."""
        if len(self._offsets) - 1 == len(self):
            return self._bytes, self._offsets
        encoded = self._encoded
        if encoded is None or len(encoded[1]) - 1 != len(self):
            encoded = self._encoded = self.as_packed()
        return encoded

    @property
    def tokens(self) -> Sequence[str]:
        """All tokens in the order of their numbers."""
        packed, tokens = self._state
        return (*self._decoded(np.arange(packed)), *tokens) if packed else tuple(tokens)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} tokens)"


def joined_words(words: Sequence[str], offsets: Int64s) -> list[str]:
    """The texts of words laid end to end, with blanks between them; a word that is a text alone stays as it is."""
    if len(words) == len(offsets) - 1 and np.array_equal(offsets, np.arange(len(offsets))):
        return list(words)
    return [" ".join(words[begin:end]) for begin, end in pairwise(offsets.tolist())]


class Texts(Sequence[str]):
    """Texts of words of a vocabulary with blanks between them. Strings are made only when somebody asks for one.

    Metrics that need no strings take ``codes``, which threads compute at once: Python's lock is not held meanwhile.
    """

    def __init__(self, vocabulary: Vocabulary, offsets: Int64s, labels: Int32s) -> None:
        self._vocabulary, self._offsets, self._labels = vocabulary, offsets, labels

    def __len__(self) -> int:
        return len(self._offsets) - 1

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        return self.strings[place]

    def __iter__(self) -> Iterator[str]:
        return iter(self.strings)

    @cached_property
    def strings(self) -> list[str]:
        """All texts as strings."""
        return joined_words(self._vocabulary.words(self._labels), self._offsets)

    @cached_property
    def codes(self) -> tuple[Int32s, Int64s] | None:
        """The code points of all texts end to end, and their offsets; None if bytes are no UTF-8."""
        from hulltune.kernels.outputs.texts import code_points

        data, data_offsets = self._vocabulary.encoded()
        valid, codes, offsets = code_points(data, data_offsets, self._offsets, self._labels)
        codes.flags.writeable = False  # as those of strings: kernels are compiled for either by itself
        return (codes, offsets) if valid else None
