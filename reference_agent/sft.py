"""Supervised fine-tuning of the two players: Algorithm 1, lines 21 and 22; the loss is on the completion only.

The reflector learns to write R after p(s). The policy learns to choose a's label after p(s), R and α(A(s)), with the
labels drawn anew every time, and its loss is over the listed labels, as its distribution will be. A policy that scores
each action's text (saycan.py) learns to write it instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from natlang_envs.errors import UsageError
from natlang_envs.prompt import reflection_prompt
from reference_agent.collect import Example
from reference_agent.config import SFTConfig
from reference_agent.model import LanguageModel, NotFinite
from reference_agent.saycan import SayCanPolicy

Report = Callable[[int, float], None]


def tune_reflector(
    model: LanguageModel, examples: Sequence[Example], config: SFTConfig, seed: int, report: Report
) -> None:
    """Train `model` in place on {(R | p(s))}; `report` gets the step and the loss."""
    _tune(model, examples, _reflector_loss(model), config, np.random.default_rng([seed, 2]), report)


def tune_policy(
    model: LanguageModel, examples: Sequence[Example], reflect: bool, config: SFTConfig, seed: int, report: Report
) -> None:
    """Train `model` in place on {(a | p(s), R, α(A(s)))}, without R if `reflect` is False."""
    rng = np.random.default_rng([seed, 3])
    _tune(model, examples, _policy_loss(model, reflect, config, rng), config, rng, report)


def tune_both(
    model: LanguageModel,
    examples: Sequence[Example],
    shown: Sequence[Example],
    reflector: SFTConfig,
    policy: SFTConfig,
    seed: int,
    report: Report,
) -> None:
    """Train one `model` in place for both jobs (appendix E.2): each update is on a batch of either.

    Args:
        model: The model.
        examples: What it learns to reflect from; `reflector` says how long and how fast.
        shown: What it learns to choose from; `policy` says how (`batch`, `smoothing`, `doubt`).
        reflector: Settings of the one job.
        policy: Settings of the other.
        seed: Draws batches and labels.
        report: Gets the step and the sum of both losses.
    """
    rng = np.random.default_rng([seed, 3])
    reflect, choose = _reflector_loss(model), _policy_loss(model, True, policy, rng)

    def loss(batch: Sequence[Example]) -> Tensor:
        drawn = rng.integers(len(shown), size=policy.batch).tolist()
        return reflect(batch) + choose([shown[index] for index in drawn])

    _tune(model, examples, loss, reflector, np.random.default_rng([seed, 2]), report)


def _reflector_loss(model: LanguageModel) -> Callable[[Sequence[Example]], Tensor]:
    def loss(batch: Sequence[Example]) -> Tensor:
        return model.completion_loss(
            [reflection_prompt(each.state) for each in batch], [each.reflection for each in batch]
        )

    return loss


def _policy_loss(
    model: LanguageModel, reflect: bool, config: SFTConfig, rng: np.random.Generator
) -> Callable[[Sequence[Example]], Tensor]:
    def loss(batch: Sequence[Example]) -> Tensor:
        prompts: list[str] = []
        labels: list[list[str]] = []
        for each in batch:
            choices = model.list_actions(each.commands, rng)
            said = each.reflection if reflect else None
            if said and rng.random() < config.doubt:
                said = said.replace(each.action, each.commands[int(rng.integers(len(each.commands)))])
            prompts.append(model.ask(each.state, said, choices))
            labels.append([choice.label for choice in choices])
        if isinstance(model, SayCanPolicy):
            return model.completion_loss(prompts, [each.action for each in batch])
        targets = torch.tensor([each.commands.index(each.action) for each in batch])
        log_probabilities = torch.log_softmax(model.choice_logits(prompts, labels), dim=1)
        certain = -log_probabilities.gather(1, targets[:, None]).mean()
        even = -log_probabilities.where(log_probabilities.isfinite(), 0.0).sum(dim=1).mean() / len(labels[0])
        return (1 - config.smoothing) * certain + config.smoothing * even

    return loss


def _tune(
    model: LanguageModel,
    examples: Sequence[Example],
    loss_of: Callable[[Sequence[Example]], Tensor],
    config: SFTConfig,
    rng: np.random.Generator,
    report: Report,
) -> None:
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    model.model.train()
    order: list[int] = []
    for step in range(config.steps):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * min(1.0, (step + 1) / 20, 1.05 - step / config.steps)
        while len(order) < config.batch:
            order += rng.permutation(len(examples)).tolist()
        batch, order = [examples[index] for index in order[: config.batch]], order[config.batch :]
        loss = loss_of(batch)
        try:
            model.descend(optimizer, loss, config.clip)
        except NotFinite as error:
            raise UsageError(
                f"{error} in step {step + 1} of {config.steps} of a supervised fine-tuning: lower its learning_rate"
            ) from None
        report(step + 1, float(loss.detach()))
    model.model.eval()
