import sys, torch
from dataclasses import replace
from pathlib import Path
from reference_agent.paper.experiments import PRESETS, cell_config
from reference_agent.run.pipeline import train
out, task, method, seed, *settings = sys.argv[1:]
torch.set_num_threads(1)
c = cell_config(task, method, PRESETS["smollm2"], int(seed), settings)
train(c, Path(out) / "cells" / task / method / f"seed-{seed}", lambda *a: print(*a, flush=True), Path(out) / "stages")
