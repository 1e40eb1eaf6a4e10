"""Small damage to a text, for fuzzing the readers."""

from __future__ import annotations

from hypothesis import strategies as st

PIECES = st.one_of(
    st.text(max_size=3),
    st.sampled_from(["|||", " ||| ", "[0]", "[1]", "=", "x=1", "nan", "1e5", "-0", "#", "7 7", "99999999999999999999"]),
    st.sampled_from(["]", "[", "(", ")", "'", '"', "\\", "{}", "null", "é"]),
    st.sampled_from([",", "\n", "\n\n", "# node 1\n", "1\n", "0\n", "\t", "\r", "\x0b", "\u00a0"]),
)


@st.composite
def edited(draw: st.DrawFn, text: str, most: int = 3) -> str:
    """The text with up to ``most`` stretches replaced, dropped or added; sometimes as it is."""
    for _ in range(draw(st.integers(0, most))):
        start = draw(st.integers(0, len(text)))
        stop = min(len(text), start + draw(st.integers(0, 4)))
        text = text[:start] + draw(PIECES) + text[stop:]
    return text
