import sys,time
from dataclasses import replace
from reference_agent.paper.experiments import PRESETS, cell_config
for t in sys.argv[1:]:
    c = cell_config(t, "sft-faithful", PRESETS["smollm2"], 0, [])
    print(t, c)
