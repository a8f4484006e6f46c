"""Peak memory of two players as two adapters on one base, against two models: SmolLM2 on ALFWorld, each in a process.

Each process loads both players, lets the reflector write to a batch of ALFWorld states, lets the policy choose, and
takes one update of the policy with AdamW: the parts of an RL iteration that need memory. What Python and torch take
before a model is loaded is taken off. First: `reflect-rl models fetch smollm2`.
"""

from __future__ import annotations

import json
import platform
import resource
import subprocess
import sys
from datetime import date
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "reflect_rl_memory.md"
BATCH, MINIBATCH, TOKENS = 2, 1, 4
AIM = 0.7
SETTINGS = {
    "two adapters on one base": ["model.lora_rank=64", 'players="adapters"'],
    "two models, an adapter each": ["model.lora_rank=64", 'players="two"'],
    "two models, all weights trained": ["model.lora_rank=0"],
}


def peak() -> float:
    """Return the process's largest resident memory so far, MB."""
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used / (1e6 if platform.system() == "Darwin" else 1e3)


def measure(settings: list[str]) -> dict[str, float]:
    """Return the peak, MB, and the length of the prompts, of a process that does nothing else."""
    import gymnasium
    import torch

    import natlang_envs  # noqa: F401  # pyright: ignore[reportUnusedImport]
    from natlang_envs.prompt import state_prompt
    from reference_agent.base import model_source
    from reference_agent.config_file import load_config
    from reference_agent.model import LanguageModel
    from reference_agent.players import Reflector, decide

    torch.set_num_threads(1)
    config = load_config(None, ['model.name="smollm2"', *settings])
    states: list[str] = []
    commands: list[tuple[str, ...]] = []
    env = gymnasium.make("NatLang/ALFWorld-v0")
    for seed in range(BATCH):
        observation, info = env.reset(seed=seed)
        states.append(state_prompt(info["task"], (), observation))
        commands.append(info["admissible_commands"])

    before = peak()
    source = model_source("smollm2")
    policy = LanguageModel.load(source, config.model)
    if config.model.lora_rank:
        policy = policy.with_adapter("policy", config.model)
    other = policy if config.players == "adapters" else LanguageModel.load(source, config.model)
    if config.model.lora_rank:
        other = other.with_adapter("reflector", config.model)
    reflector = Reflector(other, TOKENS)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-4)
    decisions = decide(policy, reflector, states, commands, None)[:MINIBATCH]
    for _ in range(2):
        logits = policy.choice_logits([each.prompt for each in decisions], [each.labels for each in decisions])
        policy.descend(optimizer, -torch.log_softmax(logits, dim=1)[:, 0].mean(), 1.0)
    return {
        "peak": peak() - before,
        "tokens": sum(policy.count(each.prompt) for each in decisions) / MINIBATCH,
    }


def main() -> None:
    """Measure each setting in its own process and write the page."""
    from report import publish
    from taxi import processor

    from natlang_envs.evaluation.runner import hardware

    found: dict[str, dict[str, float]] = {}
    for name, settings in SETTINGS.items():
        command = [sys.executable, __file__, json.dumps(settings)]
        output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
        found[name] = json.loads(output.splitlines()[-1])
    ours = found["two adapters on one base"]
    publish(
        RESULTS,
        "Memory of two players",
        [
            f"Written by `python benchmarks/reflect_rl_memory.py` on {date.today().isoformat()}: {hardware()} "
            f"({processor()}). SmolLM2-135M, fp32, LoRA of rank 64 on all linear layers; the "
            f"reflector writes {TOKENS} tokens to {BATCH} states of `NatLang/ALFWorld-v0`, the policy chooses, then "
            f"two updates of the policy on {MINIBATCH} prompts of {ours['tokens']:.0f} tokens on average. Resident "
            f"memory of a process for each row, above what it took before a model was loaded. The aim: at most {AIM} "
            "of two models.",
        ],
        ["Players", "peak, MB", "adapters / this", f"at most {AIM}"],
        [
            [
                name,
                f"{row['peak']:,.0f}",
                f"{ours['peak'] / row['peak']:.2f}",
                "" if row is ours else "yes" if ours["peak"] <= AIM * row["peak"] else "NO",
            ]
            for name, row in found.items()
        ],
        [
            "What is saved is the second base and what reading with it takes. Activations of an update, and the "
            "policy's adapter with its optimizer, are in every row; the last has gradients and optimizer of all "
            "weights beside. No part was measured by itself."
        ],
    )


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(json.loads(sys.argv[1]))))
    else:
        main()
