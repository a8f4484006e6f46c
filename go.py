"""go.py OUT TARGET TASK SEED METHODS(comma) SPLIT [settings...]: cells of one seed, one process."""
import sys
from dataclasses import replace
from pathlib import Path
from reference_agent.paper.experiments import PRESETS, TARGETS, make_plan
from reference_agent.paper.reproduce import reproduce
out, target, task, seed, methods, split, *settings = sys.argv[1:]
import time
last = [0.0]
def report(*a):
    if time.time() - last[0] > 20:
        last[0] = time.time(); print(time.strftime("%H:%M:%S"), *a, flush=True)
t = replace(TARGETS[target], methods=tuple(methods.split(",")), picture=False)
p = replace(PRESETS["smollm2"], seeds=(int(seed),))
plan = make_plan(t, p, Path(out), [task], settings, split)
plan = replace(plan, cells=tuple(c for c in plan.cells if c.is_trained))
try:
    reproduce(plan, 1, report, lambda c: print("done", c.name, flush=True))
except Exception as e:
    print(repr(e)); raise
