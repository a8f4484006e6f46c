"""How fast the reflector writes beside `generate` of transformers with a key/value cache, on the same prompts.

`python benchmarks/reflection_speed.py --model smollm2` prints a table and writes it to
benchmarks/results/reflection_speed.md. The prompts are those of a rollout's steps on the Taxi's pickup: groups of
episodes of one task, played by random commands. Speed does not depend on what the weights say, so nothing is trained.
"""

from __future__ import annotations

import argparse
import platform
import shlex
import sys
from datetime import date
from pathlib import Path

import gymnasium
import numpy as np
import torch
import transformers
from agent_speed import load, timed
from report import publish
from taxi import processor

from natlang_envs.env import unwrap
from natlang_envs.evaluation.runner import hardware
from natlang_envs.prompt import PathStep, reflection_prompt, state_prompt
from reference_agent.models.language_model import LanguageModel
from reference_agent.players import Reflector

RESULTS = Path(__file__).parent / "results" / "reflection_speed.md"
PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
HEADINGS = ("step", "prompts", "different ones", "ours, s", "generate, s", "ratio", "same texts")


def prompts_of_steps(tasks: int, group: int, steps: int, seed: int) -> list[list[str]]:
    """Return p(s) of all episodes at each step; an episode that has ended is missing from then on."""
    env = unwrap(gymnasium.make(PICKUP, split="train"))
    rng = np.random.default_rng(seed)
    told: list[list[str]] = [[] for _ in range(steps)]
    for _ in range(tasks):
        task_id = env.tasks.draw(rng.random)
        for _ in range(group):
            observation, info = env.reset(options={"task_id": task_id})
            path: list[PathStep] = []
            for states in told:
                states.append(state_prompt(info["task"], path, observation, history=1))
                action = str(rng.choice(info["admissible_commands"]))
                observation, _, terminated, truncated, info = env.step(action)
                path.append(PathStep(action, info["feedback"]))
                if terminated or truncated:
                    break
    return [states for states in told if states]


@torch.no_grad()
def generate(model: LanguageModel, states: list[str], most: int) -> list[str]:
    """Return the greedy reflections of one batch, padded on the left, by `generate` of transformers."""
    ids = [model.encode(reflection_prompt(state)) for state in states]
    width = max(map(len, ids))
    written = model.model.generate(
        input_ids=torch.tensor([[model.end] * (width - len(each)) + list(each) for each in ids]),
        attention_mask=torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in ids]),
        max_new_tokens=most,
        do_sample=False,
        use_cache=True,
        eos_token_id=model.end,
        pad_token_id=model.end,
    )
    return [model.tokenizer.decode(row, skip_special_tokens=True).strip() for row in written[:, width:].tolist()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="tiny", help="'tiny', 'smollm2', a folder or a hub id")
    parser.add_argument("--precision", default="fp32", choices=("bf16", "fp32"))
    parser.add_argument("--tasks", type=int, default=2)
    parser.add_argument("--group", type=int, default=8, help="episodes of each task")
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--reflection-tokens", type=int, default=48)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    torch.set_num_threads(1)
    model = load(chosen.model, {"bf16": torch.bfloat16, "fp32": torch.float32}[chosen.precision], chosen.seed)
    steps = prompts_of_steps(chosen.tasks, chosen.group, chosen.steps, chosen.seed)
    most = chosen.reflection_tokens
    generate(model, steps[0][:1], 2), model.write(steps[0][:1], 2)  # warming up
    reflector = Reflector(model, most)
    rows: list[tuple[str, int, int, float, float, int]] = []
    for number, states in enumerate(steps, start=1):
        before = reflector.written
        ours, said = timed(lambda s=states: reflector.reflect(s))
        theirs, told = timed(lambda s=states: generate(model, s, most))
        same = sum(a == b for a, b in zip(said, told, strict=True))
        rows.append((str(number), len(states), reflector.written - before, ours, theirs, same))
    columns = list(zip(*rows, strict=True))[1:]
    rows.append(("all", *(sum(each) for each in columns)))
    cells = [
        (name, str(count), str(new), f"{ours:.2f}", f"{theirs:.2f}", f"{theirs / ours:.1f}", f"{same} of {count}")
        for name, count, new, ours, theirs, same in rows
    ]
    ratio, ratios = cells[-1][5], [each[5] for each in cells[:-1]]
    publish(
        chosen.out,
        "The reflector's speed beside transformers' `generate`",
        f"**Reflections are written {ratio} times as fast as by `generate` with a key/value cache**, for the same "
        f"{cells[-1][1]} prompts, of which {cells[-1][2]} had to be answered: equal ones are answered once, and "
        "decoding is speculative, with drafts from the prompt and from texts written before. In single steps it is "
        f"{min(ratios, key=float)} to {max(ratios, key=float)} times.",
        [
            f"Written by `python benchmarks/reflection_speed.py {shlex.join(sys.argv[1:])}` on "
            f"{date.today().isoformat()}: {hardware()} ({processor()}), one thread, seconds of the processor; Python "
            f"{platform.python_version()}, torch {torch.__version__}, transformers {transformers.__version__}; model "
            f"{Path(chosen.model).name} ({chosen.precision}), seed {chosen.seed}.",
        ],
        HEADINGS,
        cells,
        [
            f"The Taxi's pickup: {chosen.tasks} tasks, {chosen.group} episodes of each, random commands. Greedy, at "
            f"most {most} tokens. `generate` has all prompts of a step in one batch.",
        ],
    )


if __name__ == "__main__":
    main()
