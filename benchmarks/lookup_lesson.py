"""How soon ALFWorld's tiny model learns to look things up, from plain and from mimetic untrained weights.

`python benchmarks/lookup_lesson.py` trains the lesson on lists alone, which is in
reference_agent/families/alfworld/warmup.py, once with each, and prints the mean loss of an answer's token. Then it asks
one question each of further prompts, short and whole.
"""

from __future__ import annotations

import argparse
import re
import time
from dataclasses import replace
from pathlib import Path

import numpy as np

from reference_agent.collection import gather
from reference_agent.config_file import load_config
from reference_agent.families.alfworld.warmup import ask
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.start import make_tiny

CONFIG = Path(__file__).parents[1] / "reference_agent" / "experiments" / "alfworld" / "best.toml"
ASKED = 200


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--trajectories", type=int, default=100, help="that the prompts are taken from")
    parser.add_argument("--set", action="append", default=[], help="key=value, as of reflect-rl train")
    chosen = parser.parse_args()
    config = load_config(CONFIG, chosen.set)
    config = replace(config, collect=replace(config.collect, trajectories=chosen.trajectories, policy_trajectories=0))
    lesson = replace(config.warmup, lookup_steps=chosen.steps, copy_steps=0, steps=0)
    states = [each.state for each in gather(config).examples]
    for mimetic in (False, True):
        start = time.perf_counter()
        losses: list[float] = []

        def note(stage: str, step: int, steps: int, loss: float, losses: list[float] = losses) -> None:
            losses.append(loss)

        model = make_tiny(replace(config, warmup=lesson, model=replace(config.model, mimetic=mimetic)), note)
        told = ", ".join(f"{losses[at - 1]:.2f} after {at}" for at in range(100, chosen.steps + 1, 100))
        print(f"mimetic {mimetic}: loss {told}; {time.perf_counter() - start:.0f} s", flush=True)
        for whole in (False, True):
            print(f"  {'whole' if whole else 'short'} prompts: {_right(model, states, whole)} of {ASKED} answers right")


def _right(model: LanguageModel, states: list[str], whole: bool) -> int:
    """Return how many first questions on made-up lists the model answers rightly."""
    rng = np.random.default_rng(7)
    drawn = [ask(states[int(rng.integers(len(states)))], whole, rng) for _ in range(ASKED)]
    said = model.write([prompt + asked[0][0] for prompt, asked in drawn], 8)
    # What follows an answer is a question, which the lesson does not teach to write.
    pairs = [(re.findall(r"\w+", text), asked[0][1].split()) for text, (_, asked) in zip(said, drawn, strict=True)]
    return sum(words[: len(answer)] == answer for words, answer in pairs)


if __name__ == "__main__":
    main()
