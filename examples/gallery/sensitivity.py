"""How much each weight matters: the metric along it, around the range in which the score is hardly worse."""

import hulltune
from hulltune.simulate import simulated_task

task = simulated_task(sentences=60, candidates=20, seed=1)
result = hulltune.tune(task.lists, metric="wer", tolerance=0.005)
picture = result.plot_sensitivity()
picture.save("sensitivity.png", dpi=80)
