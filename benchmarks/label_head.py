"""How long a pretrained model takes to follow a true reflection: by labels (section 4.3) or by commands (SayCan).

`python benchmarks/label_head.py --seconds 600` prints a table and writes results/label_head.md.

The teacher's own reflections in DangerousTaxi's pickup are shown, so nothing is left but to read the sentence and to
find its command in the list. Each way of teaching is measured every ten steps on states of the split `validation`. What
was measured is kept in runs/, by the seconds, and a stopped run goes on with the next way.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from harness import RESULTS, publish

from natlang_envs.files import write_whole
from natlang_envs.prompt import policy_prompt
from reference_agent.collection import gather
from reference_agent.data_set import Example
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.named import model_source
from reference_agent.models.saycan import SayCanPolicy
from reference_agent.paper.experiments import PRESETS, cell_config
from reference_agent.run.config import ModelConfig

STATES, BATCH, EVERY, RATE, WARM_UP, ENOUGH = 32, 8, 10, 1e-3, 5, 0.95
ORDERED_STEPS, SHORT_STEPS = 30, 30
Lesson = tuple[str, list[str], int]  # a prompt, what may be chosen, and which is right


class Way(NamedTuple):
    """How the policy is taught: its head, its template, and which lesson the example of a step and a place is."""

    title: str
    lesson: Callable[[int, int], str]
    saycan: bool = False
    chat: bool = False


def first(lesson: str, steps: int) -> Callable[[int, int], str]:
    return lambda step, place: lesson if step < steps else "drawn"


WAYS = {
    "saycan": Way("writes the command (SayCan)", lambda step, place: "drawn", saycan=True),
    "saycan-chat": Way("the same, in its chat template", lambda step, place: "drawn", saycan=True, chat=True),
    "drawn": Way("labels, drawn anew for each example (the paper's)", lambda step, place: "drawn"),
    "ordered": Way(f"labels, in order for {ORDERED_STEPS} steps, then drawn", first("ordered", ORDERED_STEPS)),
    "short": Way(
        f"labels, {SHORT_STEPS} steps of the list and the last sentence alone, then whole", first("short", SHORT_STEPS)
    ),
    "mixed": Way(
        "labels, half of each batch the list and the last sentence alone",
        lambda step, place: ("short", "drawn")[place % 2],
    ),
    "short-chat": Way("as two lines above, in its chat template", first("short", SHORT_STEPS), chat=True),
}


def lesson_of(model: LanguageModel, example: Example, kind: str, rng: np.random.Generator) -> Lesson:
    """Return an example as a lesson."""
    right = example.commands.index(example.action)
    if isinstance(model, SayCanPolicy):
        return model.ask(example.state, example.reflection, ()), list(example.commands), right
    choices = model.list_actions(example.commands, None if kind == "ordered" else rng)
    prompt = model.ask(example.state, example.reflection, choices)
    if kind == "short":
        said = example.reflection.rstrip(".").rpartition(". ")[2] + "."
        prompt = prompt.replace(
            policy_prompt(example.state, example.reflection, choices), policy_prompt("", said, choices)
        )
    return prompt, [each.label for each in choices], right


@torch.no_grad()
def follows(model: LanguageModel, examples: Sequence[Example], kind: str) -> float:
    """Return in how many states the likeliest choice is the teacher's."""
    model.model.eval()
    rng, right = np.random.default_rng(1), 0
    for at in range(0, len(examples), BATCH):
        asked = [lesson_of(model, each, kind, rng) for each in examples[at : at + BATCH]]
        logits = model.choice_logits([each[0] for each in asked], [each[1] for each in asked])
        right += int((logits.argmax(1) == torch.tensor([each[2] for each in asked])).sum())
    model.model.train()
    return right / len(examples)


def examples_of(split: str, most: int) -> list[Example]:
    """Return the teacher's steps in a split, without mistakes, evenly spread over its games."""
    config = cell_config("taxi-pickup", "sft-faithful", PRESETS["smollm2"], 0, [])
    collected = replace(config.collect, trajectories=25, policy_trajectories=25, negatives=0)
    found = gather(replace(config, env_kwargs={"split": split}, collect=collected)).examples
    taught = list({(each.state, each.reflection): each for each in found}.values())
    return taught[:: max(1, len(taught) // most)][:most]


def learn(name: str, seconds: float, taught: Sequence[Example], held_out: Sequence[Example]) -> dict[str, Any]:
    """Teach in one way until both ways of listing are followed; return the points: steps, seconds, drawn, in order."""
    way = WAYS[name]
    base = LanguageModel.load(model_source("smollm2"), ModelConfig(chat=way.chat))
    policy = base.with_adapter("policy", ModelConfig(lora_rank=16, chat=way.chat))
    if way.saycan:
        policy = SayCanPolicy(policy)
    optimizer, rng, spent = policy.optimizer(RATE), np.random.default_rng(0), 0.0
    points: list[tuple[int, float, float, float]] = []
    for step in count():
        if step % EVERY == 0 or (way.saycan and step < EVERY):
            drawn = follows(policy, held_out, "drawn")
            points.append((step, spent, drawn, drawn if way.saycan else follows(policy, held_out, "ordered")))
            print(f"{name}: {step} steps, {spent:.0f} s, drawn {drawn:.0%}, in order {points[-1][3]:.0%}", flush=True)
            if min(points[-1][2:]) >= ENOUGH or spent >= seconds:
                return {"points": points}
        begun = time.process_time()
        for group in optimizer.param_groups:
            group["lr"] = RATE * min(1.0, (step + 1) / WARM_UP)
        batch = [taught[index] for index in rng.integers(len(taught), size=BATCH)]
        asked = [lesson_of(policy, each, way.lesson(step, place), rng) for place, each in enumerate(batch)]
        prompts = [each[0] for each in asked]
        if way.saycan:
            loss = policy.completion_loss(prompts, [each[1][each[2]] for each in asked])
        else:
            targets = torch.tensor([each[2] for each in asked])
            loss = torch.nn.functional.cross_entropy(
                policy.choice_logits(prompts, [each[1] for each in asked]), targets
            )
        policy.descend(optimizer, iter([loss]), 1.0)
        spent += time.process_time() - begun
    raise AssertionError


def reached(points: Sequence[Sequence[float]], column: int) -> str:
    """Say when a share of states was followed that is enough, or how far it came."""
    found = next((each for each in points if each[column] >= ENOUGH), None)
    if found:
        return f"{found[0]:.0f} step{'s' * (found[0] != 1)}, {found[1]:.0f} s"
    best = max(each[column] for each in points)
    return f"not in {points[-1][0]:.0f} steps, {points[-1][1]:.0f} s; best {best:.0%}"


def cells(title: str, points: Sequence[Sequence[float]]) -> list[str]:
    """Return the line of the table for a way of teaching."""
    return [title, f"{points[0][2]:.0%}", reached(points, 2), reached(points, 3)]


def curve(points: Sequence[Sequence[float]]) -> str:
    """Say how often a true reflection was followed after so many steps, labels drawn."""
    return ", ".join(f"{each[2]:.0%} after {each[0]:.0f}" for each in points)


def conclusion(found: dict[str, Any]) -> str:
    """Say what SayCan takes, and the quickest way to teach labels."""
    saycan = reached(found["saycan"]["points"], 2) if "saycan" in found else "not measured"
    taught = [(found[name]["points"][-1], name) for name, way in WAYS.items() if name in found and not way.saycan]
    done = [(each[1], name) for each, name in taught if min(each[2:]) >= ENOUGH]
    if done:
        seconds, name = min(done)
        labels = f"labels after {seconds:.0f} seconds at the earliest, taught as: {WAYS[name].title}"
    else:
        labels = f"labels in none of {len(taught)} ways of teaching them"
    return (
        f"A policy that writes its command follows a true reflection in {ENOUGH:.0%} of states after {saycan} of a "
        f"core; {labels}."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--ways", nargs="*", choices=WAYS, default=list(WAYS))
    asked = parser.parse_args()
    torch.set_num_threads(1)
    kept = Path(f"runs/label_head-{asked.seconds:g}.json")
    found: dict[str, Any] = json.loads(kept.read_text()) if kept.exists() else {}
    taught, held_out = examples_of("train", 400), examples_of("validation", STATES)
    for name in asked.ways:
        if name not in found:
            found[name] = learn(name, asked.seconds, taught, held_out)
            kept.parent.mkdir(exist_ok=True)
            write_whole(kept, json.dumps(found).encode())
    rows = [cells(way.title, found[name]["points"]) for name, way in WAYS.items() if name in found]
    publish(
        RESULTS / "label_head.md",
        "How long SmolLM2 takes to follow a true reflection",
        conclusion(found),
        ("what is taught", "untaught", "95%, labels drawn", "95%, labels in order"),
        rows,
        ("torch", "transformers"),
        [f"{WAYS[name].title}: {curve(found[name]['points'])}." for name in WAYS if name in found],
        how=f"One seed, batches of {BATCH}, rate {RATE:g}, LoRA of rank 16, {STATES} states of the split `validation`.",
    )


if __name__ == "__main__":
    main()
