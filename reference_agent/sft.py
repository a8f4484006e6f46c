"""Supervised fine-tuning of the two players: Algorithm 1, lines 21 and 22. The loss is on the completion only.

The reflector learns to write R after p(s). The policy learns to choose the label of a after p(s), R and α(A(s)); labels
are shuffled for every example, and the loss is over the listed labels. A policy that scores each action's text
(saycan.py) learns to write that text instead. A killed fine-tuning resumes to the same weights. Processes that train
together share the work on every batch.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import chain
from math import ceil
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from natlang_envs.errors import UsageError, check_count, check_flag, require_type
from natlang_envs.files import write_whole
from reference_agent import processes
from reference_agent.checkpoint import Checkpoints, Steps, dropout_seed, random_state
from reference_agent.data_set import Example, as_examples
from reference_agent.models.language_model import LanguageModel, NotFinite, check_finite
from reference_agent.models.saycan import SayCanPolicy, head_of
from reference_agent.players import PolicyAnswers, Reflector, answer, take_role
from reference_agent.run.bounds import check_bounds, check_kind, check_rate, refuse_given
from reference_agent.run.config import PolicySFTConfig, SFTConfig
from reference_agent.run.fingerprint import digest_all, training

Report = Callable[[int, float, float], None]  # step, loss, norm of the gradient
# The loss of a batch, in one summand for each of this process's micro-batches.
Losses = Callable[[Sequence[Example]], Iterator[Tensor]]
Watch = Callable[[], Iterator[Tensor]]  # the losses of validation, each time anew
CURVE = "curve.json"
_WATCHED, _OFTEN = 32, 10  # examples of a validation at most, and about how many validations

_NOTHING = (
    "there is no example to learn from: collect more trajectories; the policy is shown those of "
    "collect.policy_trajectories, less mistakes and restarts"
)


class _PromptedAnswer(NamedTuple):
    """A prompt, with the text to write after it or the listed label to choose."""

    prompt: str
    answer: str
    labels: tuple[str, ...] = ()
    target: int = 0


def fine_tune_reflector(
    model: LanguageModel,
    examples: Sequence[Example],
    config: SFTConfig = SFTConfig(),  # noqa: B008 - immutable
    seed: int = 0,
    report: Report = lambda *_: None,
    folder: Path | str | None = None,
    *,
    validation: Sequence[Example] = (),
    max_tokens: int = 48,
    one_model: bool = False,
) -> Reflector:
    """Train `model` in place on {(R | p(s))} into a reflector (line 21).

    Args:
        model: The model.
        examples: The data set D.
        config: How long and how fast.
        seed: Seed of the batches.
        report: Called with the step, the loss, and the norm of the gradient before it is cut.
        folder: Folder of checkpoints, of which the newest is resumed, and of `curve.json`, a row for each step; None
            for neither.
        validation: Examples of other tasks, whose loss is in the curve about ten times; 32 of them at most. They need a
            folder and change nothing that is learned.
        max_tokens: Largest number of tokens of a reflection that it writes.
        one_model: Whether the model may be the policy as well (appendix E.2).

    Raises:
        UsageError: There is nothing to learn from, the model is the policy, a setting cannot be or has no effect, a
            gradient or a weight is not finite, or the folder is of other arguments or damaged.
    """
    seed, max_tokens = check_count("seed", seed, 0), check_count("max_tokens", max_tokens)
    check_kind(config, SFTConfig)
    _check(model, config, "reflector", one_model)
    examples = as_examples(examples)
    rng = np.random.default_rng([seed, 2])
    with training(folder, model, job="reflector", examples=digest_all(examples), config=config, seed=seed) as folder:
        losses, watched = _reflector_losses(model, config), _some(validation, folder)
        watch = (lambda: losses(watched)) if watched else None
        _tune(model, examples, losses, config, [rng], seed, report, folder, watch)
    return Reflector(model, max_tokens, frozen=False)


def fine_tune_policy(
    model: LanguageModel,
    examples: Sequence[Example],
    config: PolicySFTConfig = PolicySFTConfig(),  # noqa: B008 - immutable
    seed: int = 0,
    report: Report = lambda *_: None,
    folder: Path | str | None = None,
    reflect: bool = True,
    *,
    validation: Sequence[Example] = (),
    one_model: bool = False,
) -> LanguageModel:
    """Train `model` in place on {(a | p(s), R, α(A(s)))} into a policy (line 22).

    It learns from the examples that are `shown` to it: `CollectConfig` has `policy_trajectories` and
    `policy_negatives`. Arguments and errors are those of `fine_tune_reflector`; `reflect` puts R into the
    prompts.
    """
    examples, seed = as_examples(examples), check_count("seed", seed, 0)
    check_flag("reflect", reflect)
    check_policy(model, examples, config, reflect)
    _check(model, config, "policy", one_model)
    rng, shown = np.random.default_rng([seed, 3]), [each for each in examples if each.shown]
    asked = {"examples": digest_all(shown), "config": config, "seed": seed, "reflect": reflect}
    with training(folder, model, job="policy", **asked) as folder:
        losses = _policy_losses(model, reflect, config, rng)
        watch = _policy_watch(model, reflect, config, seed, _some(validation, folder, shown=True))
        _tune(model, shown, losses, config, [rng], seed, report, folder, watch)
    return model


def check_policy(
    model: LanguageModel, examples: Sequence[Example], config: PolicySFTConfig, reflect: bool = True
) -> None:
    check_kind(config, PolicySFTConfig)
    if not reflect:
        refuse_given(config, ("doubt",), "without reflections")
    if (head := head_of(model)) != "labels":
        refuse_given(config, ("smoothing",), f"with the head {head!r}, which has no list of labels to smooth over")
    _check_settings(config)
    if not any(each.shown for each in examples):
        raise UsageError(_NOTHING)


class Learned(NamedTuple):
    """How well the policy imitates on at most 64 of its examples.

    Attributes:
        accuracy: How often its greedy command is the teacher's.
        chance: How often a random command is, or the most frequent one: the better of the two.
        without: `accuracy` where no reflection is shown: near it, the policy does not read the reflection.
    """

    accuracy: float
    chance: float
    without: float | None

    def __str__(self) -> str:
        said = f"the policy chooses as the teacher {self.accuracy:.0%} of the time, chance {self.chance:.0%}"
        if self.without is None:
            return said
        deaf = self.accuracy - self.without < 0.05
        told = ": it has not learned to read the reflection" * deaf
        return f"{said}, without the reflection {self.without:.0%}{told}"


def learned(policy: LanguageModel, examples: Sequence[Example], reflect: bool = True, most: int = 64) -> Learned:
    """Return what a policy has learned; arguments are those of `choice_accuracy`. It is in evaluation mode then."""
    policy.model.eval()
    accuracy, chance, _ = choice_accuracy(policy, examples, reflect, most)
    return Learned(accuracy, chance, choice_accuracy(policy, examples, False, most)[0] if reflect else None)


def choice_accuracy(
    policy: LanguageModel, examples: Sequence[Example], reflect: bool = True, most: int = 64
) -> tuple[float, float, int]:
    """Return how often the likeliest command is the taught one, how often chance is right, and the number of examples.

    Chance draws a command, or always says the most frequent one, whichever is right more often. The policy is asked as
    in play, labels in order, about at most `most` examples that are `shown`, evenly spread.
    """
    shown = [each for each in examples if each.shown]
    asked = shown[:: max(1, -(-len(shown) // most))]
    questions = [(each.state, each.commands, each.reflection if reflect else None) for each in asked]
    known: PolicyAnswers = {}
    with torch.no_grad():
        answer(policy, questions, None, known)
    right = sum(
        each.commands[int(known[question].logits.argmax())] == each.action
        for each, question in zip(asked, questions, strict=True)
    )
    drawn, same = sum(1 / len(each.commands) for each in asked), max(Counter(each.action for each in asked).values())
    return right / len(asked), max(drawn, same) / len(asked), len(asked)


def _check(model: LanguageModel, config: SFTConfig, role: str, one_model: bool) -> None:
    require_type(model, LanguageModel, "no model: give one, such as load_model() returns")
    check_flag("one_model", one_model)
    _check_settings(config)
    check_rate(model, config)
    model.optimizer(config.learning_rate)
    take_role(model, role, one_model)


def _check_settings(settings: SFTConfig) -> None:
    check_bounds(settings, "")
    if not settings.steps:
        raise UsageError("steps is 0, which trains nothing: give 1 or more")


def fine_tune_both(
    model: LanguageModel,
    examples: Sequence[Example],
    reflector: SFTConfig,
    policy: PolicySFTConfig,
    seed: int,
    report: Report,
    folder: Path | None = None,
    validation: Sequence[Example] = (),
) -> None:
    """Train one `model` in place for both jobs (appendix E.2): each update is on a batch of either.

    `examples` are of reflections, those that are `shown` of choices; `reflector` has the number of steps. Reports the
    sum of both losses.
    """
    shown = [each for each in examples if each.shown]
    random = [np.random.default_rng([seed, number]) for number in (2, 3)]
    reflect, choose = _reflector_losses(model, reflector), _policy_losses(model, True, policy, random[1])

    def losses(batch: Sequence[Example]) -> Iterator[Tensor]:
        sampled = random[1].integers(len(shown), size=policy.batch).tolist()
        return chain(reflect(batch), choose([shown[index] for index in sampled]))

    if not shown:
        raise UsageError(_NOTHING)
    with training(folder, model, job="both", examples=digest_all(examples), config=[reflector, policy], seed=seed):
        watched = _some(validation, folder)
        chosen = _policy_watch(model, True, policy, seed, _some(validation, folder, shown=True))
        both = (lambda: chain(reflect(watched), chosen())) if chosen else None
        _tune(model, examples, losses, reflector, random, seed, report, folder, both)


def _reflector_losses(model: LanguageModel, config: SFTConfig) -> Losses:
    def losses(batch: Sequence[Example]) -> Iterator[Tensor]:
        asked = [_PromptedAnswer(model.ask_reflection(each.state), model.space + each.reflection) for each in batch]
        for part, share in _parts(model, asked, config.microbatch, True):
            yield share * model.completion_loss([each.prompt for each in part], [each.answer for each in part])

    return losses


def _policy_losses(model: LanguageModel, reflect: bool, config: PolicySFTConfig, rng: np.random.Generator) -> Losses:
    writes = isinstance(model, SayCanPolicy)

    def ask(example: Example) -> _PromptedAnswer:
        choices = model.list_actions(example.commands, rng)
        said = example.reflection if reflect else None
        if said and rng.random() < config.doubt:
            said = said.replace(example.action, example.commands[int(rng.integers(len(example.commands)))])
        labels = tuple(choice.label for choice in choices)
        prompt = model.ask(example.state, said, choices)
        return _PromptedAnswer(prompt, example.action, labels, 0 if writes else example.commands.index(example.action))

    def losses(batch: Sequence[Example]) -> Iterator[Tensor]:
        for part, share in _parts(model, [ask(each) for each in batch], config.microbatch, writes):
            prompts = [each.prompt for each in part]
            if writes:
                yield share * model.completion_loss(prompts, [each.answer for each in part])
            else:
                yield share * _choice_loss(model.choice_logits(prompts, [each.labels for each in part]), part, config)

    return losses


def _some(validation: Sequence[Example], folder: Path | None, shown: bool = False) -> list[Example]:
    """Return at most 32 examples to validate with, evenly spread; those `shown` to the policy, or any."""
    if validation and folder is None:
        raise UsageError("validation is written into curve.json of the folder: give one, or leave it out")
    kept = [each for each in as_examples(validation) if each.shown or not shown]
    return kept[:: max(1, ceil(len(kept) / _WATCHED))]


def _policy_watch(
    model: LanguageModel, reflect: bool, config: PolicySFTConfig, seed: int, examples: Sequence[Example]
) -> Watch | None:
    """Return the losses of the policy's choices, without doubt and smoothing, each time with the same labels."""
    plain = replace(config, doubt=0.0, smoothing=0.0)

    def watch() -> Iterator[Tensor]:
        return _policy_losses(model, reflect, plain, np.random.default_rng([seed, 7]))(examples)

    return watch if examples else None


def _choice_loss(logits: Tensor, asked: Sequence[_PromptedAnswer], config: PolicySFTConfig) -> Tensor:
    """Return the mean loss of choosing the right labels, whose targets are smoothed over each list."""
    log_probabilities = torch.log_softmax(logits, dim=1)
    targets = torch.tensor([each.target for each in asked])
    certain = -log_probabilities.gather(1, targets[:, None]).mean()
    # Divided by the widest list last, so that lists of one length give the very bits that a plain mean gives.
    widest, lengths = logits.shape[1], torch.tensor([len(each.labels) for each in asked])
    sums = log_probabilities.where(log_probabilities.isfinite(), 0.0).sum(dim=1)
    even = -(sums * (widest / lengths)).mean() / widest
    return (1 - config.smoothing) * certain + config.smoothing * even


def _parts(
    model: LanguageModel, asked: Sequence[_PromptedAnswer], size: int, by_token: bool
) -> Iterator[tuple[Sequence[_PromptedAnswer], float]]:
    """Cut a batch into micro-batches of prompts of like length, which are padded little; 0 leaves it whole.

    Of several processes each gets its own ones. With each comes its share in the batch's mean loss, over the answers'
    tokens or over the answers.
    """

    def weight(part: Sequence[_PromptedAnswer]) -> int:
        return sum(model.count(each.answer) + 1 for each in part) if by_token else len(part)

    size, total = min(size or len(asked), ceil(len(asked) / processes.count())), weight(asked)
    longest_first = asked if size >= len(asked) else sorted(asked, key=lambda each: -model.count(each.prompt))
    for first in processes.part(range(0, len(asked), size)):
        part = longest_first[first : first + size]
        yield part, weight(part) / total


def _tune(
    model: LanguageModel,
    examples: Sequence[Example],
    losses_of: Losses,
    config: SFTConfig,
    random: Sequence[np.random.Generator],
    seed: int,
    report: Report,
    folder: Path | None,
    watch: Watch | None,
) -> None:
    """Train on batches that the first generator draws; `losses_of` may draw from all; `seed` is dropout's.

    `watch` gives the losses of validation.
    """
    if not examples:
        raise UsageError(_NOTHING)
    optimizer = model.optimizer(config.learning_rate, config.weight_decay)
    if model.origin is not None:
        model.origin.check(chain.from_iterable(each.commands for each in examples))
    checkpoints, done, order, curve = Checkpoints(folder, model), 0, list[int](), list[dict[str, float]]()
    if last := checkpoints.resume(Steps):
        checkpoints.load_optimizer(optimizer)
        for rng, state in zip(random, last.random, strict=True):
            rng.bit_generator.state = state
        done, order, curve = last.step, last.order, last.curve
    elif watch:
        curve = [{"step": 0, "validation": _watched(model, watch)}]
    often = max(1, config.steps // _OFTEN)
    model.model.train()
    warm_up = min(20, -(-config.steps // 3))
    for step in range(done, config.steps):
        for group in optimizer.param_groups:  # linear warm-up, then linear decay
            group["lr"] = config.learning_rate * min(1.0, (step + 1) / warm_up, 1.05 - step / config.steps)
        while len(order) < config.batch:
            order += random[0].permutation(len(examples)).tolist()
        batch, order = [examples[index] for index in order[: config.batch]], order[config.batch :]
        values: list[float] = []
        try:
            with dropout_seed(seed, 6, step):
                norm = model.descend(optimizer, _noted(losses_of(batch), values), config.max_norm, together=True)
            last_one = step + 1 == config.steps
            if last_one:
                check_finite(optimizer)
            curve.append({"step": step + 1, "loss": sum(processes.gather(values)), "gradient_norm": norm})
            if watch and (last_one or (step + 1) % often == 0):
                curve[-1]["validation"] = _watched(model, watch)
            if processes.number() == 0:
                reached = Steps(0, step + 1, [random_state(rng) for rng in random], order, curve)
                checkpoints.save(reached, optimizer, always=last_one)
        except NotFinite as error:
            raise UsageError(
                f"{error} in step {step + 1} of {config.steps} of a supervised fine-tuning: lower its learning_rate "
                "and train with another --out"
            ) from None
        report(step + 1, curve[-1]["loss"], norm)
    model.model.eval()
    if folder and processes.number() == 0:
        write_whole(folder / CURVE, (json.dumps(curve) + "\n").encode())


@torch.no_grad()
def _watched(model: LanguageModel, watch: Watch) -> float:
    model.model.eval()
    values = [float(each) for each in watch()]
    model.model.train()
    return sum(processes.gather(values))


def _noted(losses: Iterator[Tensor], values: list[float]) -> Iterator[Tensor]:
    for loss in losses:
        values.append(float(loss.detach()))
        yield loss
