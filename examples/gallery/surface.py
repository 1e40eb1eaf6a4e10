"""The metric for every weight of one feature, the others held: each step is exact, and the best interval is green."""

import hulltune
from hulltune.simulate import simulated_task

task = simulated_task(sentences=60, candidates=20, seed=1)
result = hulltune.tune(task.lists, metric="wer", tolerance=0.005)
picture = result.plot_surface("forward")
picture.save("surface.png", dpi=80)
