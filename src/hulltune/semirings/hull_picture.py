"""The picture of a hull that notebooks show: its lines and their envelope as SVG, made without any package."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from html import escape
from itertools import pairwise

from hulltune.geometry.hulls import rounded
from hulltune.geometry.predicates import Point

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")
"""Colours of lines, in all pictures: Okabe and Ito's, safe for colour-blind eyes."""
WIDTH, HEIGHT, LIST = 420, 260, 340
"""The size of the plane, and the width of the list beside it."""
LONGEST_NAME = 30
"""The most characters of a line's name."""
MOST_LINES = 12
"""The most lines in the list."""
MOST_TICKS = 8
"""The most breakpoints with their numbers: more would overlap."""


def envelope_picture(lines: Sequence[Point], names: Sequence[str]) -> str:
    """The lines (slope, intercept) of an envelope by slope, thin, and where they win, thick; beside them a list with
    their names, if they have any. Places are computed exactly: no number is too large or too small for a picture.
    """
    if not lines:
        return _svg(WIDTH, ['<text x="10" y="20">the empty hull: −∞ everywhere</text>'])
    exact = [(Fraction(slope), Fraction(intercept)) for slope, intercept in lines]
    breakpoints = [(b - next_b) / (next_m - m) for (m, b), (next_m, next_b) in pairwise(exact)]
    middle = breakpoints or [Fraction(0)]
    margin = (middle[-1] - middle[0]) * Fraction(35, 100) or 1
    ends = [middle[0] - margin, *breakpoints, middle[-1] + margin]  # line i wins from ends[i] to ends[i + 1]
    heights = [m * eta + b for (m, b), eta in zip([*exact, exact[-1]], ends, strict=True)]
    low, room = min(heights), (max(heights) - min(heights)) or 1

    def at(eta: Fraction, height: Fraction) -> tuple[float, float]:
        x, y = (eta - ends[0]) / (ends[-1] - ends[0]), (height - low) / room
        return rounded(x * WIDTH), rounded(HEIGHT * (Fraction(85, 100) - y * Fraction(80, 100)))

    def stroke(line: tuple[Fraction, Fraction], first: Fraction, last: Fraction, look: str) -> str:
        (x1, y1), (x2, y2) = (at(eta, line[0] * eta + line[1]) for eta in (first, last))
        return f'<line x1="{x1:.2f}" y1="{y1:.2f}" x2="{x2:.2f}" y2="{y2:.2f}" {look}/>'

    drawn = []
    for number, line in enumerate(exact):
        colour = f'stroke="{_colour(number)}"'
        drawn.append(stroke(line, ends[0], ends[-1], f'{colour} stroke-width="1" stroke-opacity="0.5"'))
        drawn.append(stroke(line, ends[number], ends[number + 1], f'{colour} stroke-width="4"'))
    for eta in breakpoints if len(breakpoints) <= MOST_TICKS else ():
        x, _ = at(eta, low)
        drawn.append(f'<path d="M{x:.2f},{HEIGHT - 20}v5" stroke="#444"/>')
        drawn.append(f'<text x="{x:.2f}" y="{HEIGHT - 4}" text-anchor="middle">{_number(rounded(eta))}</text>')
    plane = [f'<svg width="{WIDTH}" height="{HEIGHT}">', *drawn, "</svg>"]  # cuts off what lies outside
    return _svg(WIDTH + LIST, [*plane, *_list(lines, names)])


def _list(lines: Sequence[Point], names: Sequence[str]) -> Iterator[str]:
    """A text for each line, in its colour: its name, its slope and its intercept."""
    for number, (slope, intercept) in enumerate(lines[:MOST_LINES]):
        name = names[number] if names else ""
        name = f"{name[:LONGEST_NAME]}…" if len(name) > LONGEST_NAME else name
        sign = "−" if intercept < 0 else "+"
        text = f"{name}  {_number(rounded(slope))}·η {sign} {_number(rounded(abs(intercept)))}".strip()
        yield f'<text x="{WIDTH + 10}" y="{18 * (number + 1)}" fill="{_colour(number)}">{escape(text)}</text>'
    if len(lines) > MOST_LINES:
        more = f"… and {len(lines) - MOST_LINES} more"
        yield f'<text x="{WIDTH + 10}" y="{18 * (MOST_LINES + 1)}">{more}</text>'


def _svg(width: int, parts: Sequence[str]) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{HEIGHT}" viewBox="0 0 {width} {HEIGHT}" '
    look = 'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>'
    return "\n".join([head + look, *parts, "</svg>"])


def _colour(number: int) -> str:
    return COLOURS[number % len(COLOURS)]


def _number(value: float) -> str:
    return f"{value:.4g}".replace("-", "−")
