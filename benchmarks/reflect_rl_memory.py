"""Peak memory of two players as two adapters on one base, against two models: SmolLM2 on ALFWorld, each in a process.

Each process loads both players, lets the reflector write to a batch of ALFWorld states, lets the policy choose, and
takes one update of the policy with AdamW: the parts of an RL iteration that need memory. What Python and torch take
before a model is loaded is taken off. First: `reflect-rl models fetch smollm2`.
"""

from __future__ import annotations

import importlib
import json
import platform
import resource
import subprocess
import sys
import time
from datetime import date
from pathlib import Path

RESULTS = Path(__file__).parent / "results" / "reflect_rl_memory.md"
BATCH, MINIBATCH, TOKENS = 2, 1, 4
AIM = 0.7
RANKS = (16, 64)  # of the preset smollm2, and of the paper


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
    from reference_agent.config_file import load_config
    from reference_agent.models.language_model import LanguageModel
    from reference_agent.models.start import model_source
    from reference_agent.players import Reflector, decide

    importlib.import_module("peft")  # which loading a model would import, and which is not the model's memory
    importlib.import_module("transformers.models.llama.modeling_llama")
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
    policy = policy.with_adapter("policy", config.model)
    other = policy if config.players == "adapters" else LanguageModel.load(source, config.model)
    reflector = Reflector(other.with_adapter("reflector", config.model), TOKENS)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-4)
    decisions = decide(policy, reflector, states, commands, None)[:MINIBATCH]
    seconds = 0.0
    for _ in range(2):
        seconds = time.process_time()
        logits = policy.choice_logits([each.prompt for each in decisions], [each.labels for each in decisions])
        policy.descend(optimizer, -torch.log_softmax(logits, dim=1)[:, 0].mean(), 1.0)
        seconds = time.process_time() - seconds
    return {
        "seconds": seconds,
        "peak": peak() - before,
        "tokens": sum(policy.count(each.prompt) for each in decisions) / MINIBATCH,
    }


def main() -> None:
    """Measure each case in its own process and write the page."""
    from report import publish
    from taxi import processor

    from natlang_envs.evaluation.runner import hardware

    rows: list[list[str]] = []
    for again in (False, True):
        for rank in RANKS:
            settings = [f"model.lora_rank={rank}", f"model.gradient_checkpointing={str(again).lower()}"]
            shared, apart = (_in_a_process([*settings, f'players="{players}"']) for players in ("adapters", "two"))
            ratio = shared["peak"] / apart["peak"]
            rows.append(
                [
                    str(rank),
                    "computed again" if again else "kept",
                    f"{shared['peak']:,.0f}",
                    f"{apart['peak']:,.0f}",
                    f"{ratio:.2f}",
                    "yes" if ratio <= AIM else "NO",
                    f"{shared['seconds']:.1f}",
                ]
            )
    publish(
        RESULTS,
        "Memory of two players",
        [
            f"Written by `python benchmarks/reflect_rl_memory.py` on {date.today().isoformat()}: {hardware()} "
            f"({processor()}). SmolLM2-135M, fp32, LoRA on all linear layers (rank 16 is the preset `smollm2`, 64 the "
            f"paper's); the reflector writes {TOKENS} tokens to {BATCH} states of `NatLang/ALFWorld-v0`, the policy "
            f"chooses, then two updates of the policy on {MINIBATCH} prompt of {shared['tokens']:.0f} tokens. "
            f"Resident memory of a process for each number, above what it took before a model was loaded. Aim: {AIM}."
        ],
        [
            *("rank", "activations", "two adapters on one base, MB", "two models, an adapter each, MB"),
            *("ratio", f"at most {AIM}", "an update, s"),
        ],
        rows,
        [
            "What is saved is the second base and what reading with it takes. The policy's adapter with its gradient "
            "and optimizer, and the activations of an update, are in both. `model.gradient_checkpointing` keeps what "
            "goes into each layer alone and computes the rest again; on a CPU freed blocks then go back to the system "
            "at once. The seconds are the processor's, of the second update."
        ],
    )


def _in_a_process(settings: list[str]) -> dict[str, float]:
    command = [sys.executable, __file__, json.dumps(settings)]
    output = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout
    return json.loads(output.splitlines()[-1])


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(json.dumps(measure(json.loads(sys.argv[1]))))
    else:
        main()
