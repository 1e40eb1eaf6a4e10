"""Duality: three of four lines win somewhere, one is obscured; in the dual, three points are on the lower hull."""

from hulltune.report.figure_data import four_candidates
from hulltune.report.teaching import duality_figure

_, lines = four_candidates()
picture = duality_figure(lines)
picture.save("duality.png", dpi=80)
