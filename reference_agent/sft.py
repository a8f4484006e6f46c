"""Supervised fine-tuning of the two players: Algorithm 1, lines 21 and 22; the loss is on the completion only.

The reflector learns to write R after p(s). The policy learns to choose a's label after p(s), R and α(A(s)), with the
labels drawn anew every time, and its loss is over the listed labels, as its distribution will be. A policy that scores
each action's text (saycan.py) learns to write it instead. A fine-tuning that was killed goes on from its last
checkpoint, to the same weights.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from natlang_envs.errors import UsageError
from natlang_envs.prompt import reflection_prompt
from reference_agent import checkpoint as checkpoints
from reference_agent.checkpoint import Steps
from reference_agent.collect import Example
from reference_agent.config import SFTConfig
from reference_agent.model import LanguageModel, NotFinite
from reference_agent.saycan import SayCanPolicy

Report = Callable[[int, float], None]
Losses = Callable[[Sequence[Example]], Iterator[Tensor]]  # of a batch: the summands of its loss, a micro-batch each

SECONDS = 120.0  # between checkpoints; the result does not depend on it


def tune_reflector(
    model: LanguageModel,
    examples: Sequence[Example],
    config: SFTConfig,
    seed: int,
    report: Report,
    folder: Path | None = None,
) -> None:
    """Train `model` in place on {(R | p(s))}.

    Args:
        model: The model.
        examples: What it learns from.
        config: How long and how fast.
        seed: Draws the batches.
        report: Gets the step and the loss.
        folder: Where checkpoints go, of which the newest is resumed; None for no checkpoints.

    Raises:
        UsageError: A gradient is not finite, or the checkpoint is damaged or of another model.
    """
    rng = np.random.default_rng([seed, 2])
    _tune(model, examples, _reflector_losses(model, config), config, [rng], seed, report, folder)


def tune_policy(
    model: LanguageModel,
    examples: Sequence[Example],
    reflect: bool,
    config: SFTConfig,
    seed: int,
    report: Report,
    folder: Path | None = None,
) -> None:
    """Train `model` in place on {(a | p(s), R, α(A(s)))}, without R if `reflect` is False; see `tune_reflector`."""
    rng = np.random.default_rng([seed, 3])
    _tune(model, examples, _policy_losses(model, reflect, config, rng), config, [rng], seed, report, folder)


def tune_both(
    model: LanguageModel,
    examples: Sequence[Example],
    shown: Sequence[Example],
    reflector: SFTConfig,
    policy: SFTConfig,
    seed: int,
    report: Report,
    folder: Path | None = None,
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
        folder: As that of `tune_reflector`.

    Raises:
        UsageError: As `tune_reflector`.
    """
    rng = np.random.default_rng([seed, 3])
    reflect, choose = _reflector_losses(model, reflector), _policy_losses(model, True, policy, rng)

    def losses(batch: Sequence[Example]) -> Iterator[Tensor]:
        drawn = rng.integers(len(shown), size=policy.batch).tolist()
        return chain(reflect(batch), choose([shown[index] for index in drawn]))

    _tune(model, examples, losses, reflector, [np.random.default_rng([seed, 2]), rng], seed, report, folder)


def _reflector_losses(model: LanguageModel, config: SFTConfig) -> Losses:
    def written(example: Example) -> int:
        return model.count(example.reflection) + 1

    def losses(batch: Sequence[Example]) -> Iterator[Tensor]:
        for part in _parts(model, batch, config.microbatch):
            loss = model.completion_loss(
                [reflection_prompt(each.state) for each in part], [each.reflection for each in part]
            )
            yield loss * _share(part, batch, written)

    return losses


def _policy_losses(model: LanguageModel, reflect: bool, config: SFTConfig, rng: np.random.Generator) -> Losses:
    def written(example: Example) -> int:
        return model.count(example.action) + 1 if isinstance(model, SayCanPolicy) else 1

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
        # The mean over a list, then over the batch, whose lists may differ in length.
        widest = log_probabilities.shape[1]
        stretch = widest / torch.tensor([len(each) for each in labels])
        sums = log_probabilities.where(log_probabilities.isfinite(), 0.0).sum(dim=1)
        even = -(sums * stretch).mean() / widest
        return (1 - config.smoothing) * certain + config.smoothing * even

    def losses(batch: Sequence[Example]) -> Iterator[Tensor]:
        for part in _parts(model, batch, config.microbatch):
            yield loss(part) * _share(part, batch, written)

    return losses


def _parts(model: LanguageModel, batch: Sequence[Example], size: int) -> list[Sequence[Example]]:
    """Cut a batch into micro-batches of states of like length, which are padded little; 0 leaves it whole."""
    if not size or size >= len(batch):
        return [batch]
    longest_first = sorted(batch, key=lambda each: -model.count(each.state))
    return [longest_first[first : first + size] for first in range(0, len(batch), size)]


def _share(part: Sequence[Example], batch: Sequence[Example], weight: Callable[[Example], int]) -> float:
    """Return the part that a micro-batch's mean loss has in its batch's."""
    return sum(map(weight, part)) / sum(map(weight, batch))


def _tune(
    model: LanguageModel,
    examples: Sequence[Example],
    losses_of: Losses,
    config: SFTConfig,
    random: Sequence[np.random.Generator],
    seed: int,
    report: Report,
    folder: Path | None,
) -> None:
    """Train on batches that the first generator draws; `losses_of` may draw from all; `seed` is dropout's."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.learning_rate, weight_decay=config.weight_decay)
    progress = Steps(0, [checkpoints.random_state(rng) for rng in random], [])
    last = checkpoints.newest(folder) if folder else None
    if last is not None:
        progress = checkpoints.load_progress(last, Steps)
        checkpoints.load_weights(last, model)
        checkpoints.load_optimizer(last, optimizer)
        for rng, state in zip(random, progress.random, strict=True):
            rng.bit_generator.state = state
    order = list(progress.order)
    saved = time.monotonic()
    model.model.train()
    for step in range(progress.step, config.steps):
        for group in optimizer.param_groups:
            group["lr"] = config.learning_rate * min(1.0, (step + 1) / 20, 1.05 - step / config.steps)
        while len(order) < config.batch:
            order += random[0].permutation(len(examples)).tolist()
        batch, order = [examples[index] for index in order[: config.batch]], order[config.batch :]
        values: list[float] = []
        try:
            with checkpoints.dropout_seed(seed, 6, step):
                model.descend(optimizer, _noted(losses_of(batch), values), config.clip)
        except NotFinite as error:
            raise UsageError(
                f"{error} in step {step + 1} of {config.steps} of a supervised fine-tuning: lower its learning_rate"
            ) from None
        if folder is not None and step + 1 < config.steps and time.monotonic() - saved >= SECONDS:
            state = Steps(step + 1, [checkpoints.random_state(rng) for rng in random], order)
            checkpoints.save(folder, model, optimizer, state)
            saved = time.monotonic()
        report(step + 1, sum(values))
    model.model.eval()


def _noted(losses: Iterator[Tensor], values: list[float]) -> Iterator[Tensor]:
    """Yield losses one after another, and add their values to `values`."""
    for loss in losses:
        values.append(float(loss.detach()))
        yield loss
