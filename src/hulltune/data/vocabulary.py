"""Tokens as small integers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Vocabulary:
    """A growing, one-to-one numbering of tokens from 0. Forests that are packed together share one."""

    def __init__(self, tokens: Iterable[str] = ()) -> None:
        self._tokens: list[str] = list(dict.fromkeys(tokens))
        self._ids: dict[str, int] = dict(zip(self._tokens, range(len(self._tokens)), strict=True))

    def id(self, token: str) -> int:
        """The number of ``token``, which is added if it is new."""
        number = self._ids.setdefault(token, len(self._tokens))
        if number == len(self._tokens):
            self._tokens.append(token)
        return number

    def ids(self, tokens: Sequence[str]) -> list[int]:
        """The numbers of many tokens; new ones are added in this order."""
        known, all_tokens = self._ids, self._tokens
        numbers = []
        for token in tokens:
            number = known.get(token)
            if number is None:
                number = known[token] = len(all_tokens)
                all_tokens.append(token)
            numbers.append(number)
        return numbers

    def __getitem__(self, number: int) -> str:
        return self._tokens[number]

    def __len__(self) -> int:
        return len(self._tokens)

    def __contains__(self, token: object) -> bool:
        return token in self._ids

    def words(self, numbers: Iterable[int]) -> tuple[str, ...]:
        """The tokens with these numbers."""
        return tuple(self._tokens[number] for number in numbers)

    @property
    def tokens(self) -> Sequence[str]:
        """All tokens in the order of their numbers."""
        return tuple(self._tokens)

    def __repr__(self) -> str:
        return f"Vocabulary({len(self)} tokens)"
