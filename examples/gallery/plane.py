"""The metric over two weights, with the proven optimum of the plane, and what a grid of 36 points finds."""

import hulltune
from hulltune.simulate import simulated_task

task = simulated_task(sentences=100, candidates=20, seed=1)
weights = {"forward": 1.0, "backward": 0.6, "fluency": 0.8, "hint": 0.3}
plane = hulltune.metric_plane(task.lists, weights, ("hint", "length"), metric="wer", grid=(6, 6))
picture = plane.plot()
picture.save("plane.png", dpi=100)
