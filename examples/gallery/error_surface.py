"""From the envelope to the error surface: the errors of the winner on each interval, and the best one."""

import numpy as np

from hulltune import ErrorSurface
from hulltune.report.figure_data import four_candidates, surface_steps, view_around
from hulltune.report.teaching import envelope_figure

envelope, lines = four_candidates()
errors = np.array([[{"y1": 3, "y2": 1, "y3": 0, "y4": 2}[lines.names[winner]]] for winner in lines.winners])
surface = ErrorSurface.from_sentences([envelope.breakpoints], [errors])
losses = surface.losses(lambda statistics: statistics[:, 0].astype(float))
picture = envelope_figure(lines, surface_steps(surface, losses, view_around(lines.breakpoints)), loss_label="errors")
picture.save("error_surface.png", dpi=80)
