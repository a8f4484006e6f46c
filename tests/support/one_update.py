"""`torchrun -m tests.support.one_update DIR`: each process writes what updates made of DIR/model."""

from __future__ import annotations

import atexit
import json
import sys
from pathlib import Path

import numpy as np
import torch

from reference_agent import processes
from reference_agent.algorithms.methods import reinforce
from reference_agent.algorithms.policy_gradient import Learner
from reference_agent.data_set import Example
from reference_agent.models.language_model import LanguageModel
from reference_agent.players import decide
from reference_agent.rollout import Episode
from reference_agent.run.config import PolicySFTConfig, RLConfig, SFTConfig
from reference_agent.sft import fine_tune_policy, fine_tune_reflector

STATES = [f"Street {number // 2}\n" for number in range(21)]  # most of them twice
COMMANDS = ("move north", "move south", "pick up")


def update(folder: Path, after: Path) -> list[float]:
    """Return loss, entropy and norm of one update on one-step episodes; write the model as it is after it."""
    policy = LanguageModel.load(folder)
    optimizer = torch.optim.AdamW(policy.parameters(), lr=1e-2, eps=1e-3)  # or signs of tiny gradients would count
    learner = Learner(policy, optimizer, RLConfig(microbatch=4), np.random.default_rng(0))
    decisions = decide(policy, None, STATES, [COMMANDS] * len(STATES), learner.rng)
    episodes = [Episode([each], [float(each.chosen)], True) for each in decisions]
    said = reinforce(learner, episodes)
    torch.save(policy.model.state_dict(), after)  # `policy.save` writes in the first process only
    return [said.loss, said.entropy, said.gradient_norm]


def tune(folder: Path, after: Path) -> tuple[list[float], int]:
    """Return the losses of two supervised updates of each kind, and how many texts were read here; write the model."""
    model, read = LanguageModel.load(folder), list[int]()
    model.model.get_input_embeddings().register_forward_pre_hook(lambda _, given: read.append(len(given[0])))
    examples = [
        Example(
            0, "", False, False, state, f"I should {COMMANDS[at % 3]}{' soon' * (at % 2)}.", COMMANDS, COMMANDS[at % 3]
        )
        for at, state in enumerate(STATES)
    ]
    losses: list[float] = []
    settings = {"steps": 2, "batch": 7, "learning_rate": 1e-2, "microbatch": 3}
    fine_tune_reflector(model, examples, SFTConfig(**settings), report=lambda _, loss, __: losses.append(loss))
    told = {"report": lambda _, loss, __: losses.append(loss), "one_model": True}
    fine_tune_policy(model, examples, PolicySFTConfig(**settings), **told)
    torch.save(model.model.state_dict(), after)
    return losses, sum(read)


if __name__ == "__main__":
    out = Path(sys.argv[1])
    number = str(processes.number())
    # What is registered first, runs last.
    atexit.register(lambda: (out / f"{number}.left").write_text(str(not torch.distributed.is_initialized())))
    (out / f"{number}.json").write_text(json.dumps(update(out / "model", out / f"{number}.pt")))
    (out / f"{number}.sft.json").write_text(json.dumps(tune(out / "model", out / f"{number}.sft.pt")))
