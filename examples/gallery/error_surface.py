"""From the envelope to the error surface: the errors of the winner on each interval, and the best one."""

import numpy as np

import hulltune
from hulltune.report.picture import new_picture

FEATURES = [[-1.0, 1.2], [-0.25, 2.0], [0.45, 1.2], [1.0, 1.1]]
ERRORS = {"y1": 3, "y2": 1, "y3": 0, "y4": 2}
COLOURS = {"y1": "#0072b2", "y2": "#d55e00", "y3": "#8c8c8c", "y4": "#009e73"}
LIFT = {"y2": -4, "y3": 4}  # names that would touch

forest = hulltune.Forest.from_nbest(list(ERRORS), FEATURES, feature_names=["direction", "origin"])
envelope = hulltune.envelope(forest, {"origin": 1.0}, {"direction": 1.0})
winners = [envelope.tokens(segment)[0] for segment in range(len(envelope))]
surface = hulltune.ErrorSurface.from_sentences([envelope.breakpoints], [np.array([[ERRORS[name]] for name in winners])])
ends = np.array([-1.7, *envelope.breakpoints, 1.35])

picture = new_picture(8.0, 6.4)
above, below = picture.subplots(2, 1, sharex=True, height_ratios=[2, 1])
for name, (slope, intercept) in zip(ERRORS, FEATURES, strict=True):
    heights = slope * ends[[0, -1]] + intercept
    above.plot(ends[[0, -1]], heights, "-" if name in winners else "--", color=COLOURS[name], linewidth=1.4)
    shown = {"textcoords": "offset points", "va": "center", "color": COLOURS[name]}
    label = name if name in winners else f"{name} (obscured)"
    above.annotate(label, (ends[-1], heights[-1]), (6, LIFT.get(name, 0)), **shown)
above.plot(ends, [envelope.at(end) for end in ends], color="black", linewidth=3.2, zorder=1, label="upper envelope")
above.set(ylabel="model score", title="Lines, upper envelope and error surface", ylim=(-0.7, 3.0))
above.legend(loc="upper center", frameon=False)
errors = surface.losses(lambda statistics: statistics[:, 0].astype(float))
below.stairs(errors, ends, baseline=None, color="black", linewidth=2)
best = int(np.argmin(errors))
below.axvspan(ends[best], ends[best + 1], color="#009e73", alpha=0.35, linewidth=0, zorder=0)
below.set(
    ylabel="errors", xlabel="η  (step along the direction)", xlim=ends[[0, -1]], ylim=(0.5, 3.5), yticks=[1, 2, 3]
)
for axes in (above, below):
    for place in envelope.breakpoints:
        axes.axvline(place, color="0.75", linestyle=":", linewidth=1, zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
picture.save("error_surface.png", dpi=80)
