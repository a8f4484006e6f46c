"""RL fine-tuning through a curriculum: Algorithm 1, lines 23 to 35, with checkpoints, exact resume, a learning curve.

The reflector is frozen. Each stage of the curriculum continues with the policy of the stage before, with a new
optimizer and learning-rate schedule.
"""

from __future__ import annotations

import logging
import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter

from natlang_envs.errors import UsageError, check_count
from natlang_envs.prompt import History
from reference_agent import processes
from reference_agent.algorithms import algorithm_name, load_algorithm, methods
from reference_agent.algorithms.policy_gradient import Learner, Update
from reference_agent.checkpoint import Checkpoints, Iterations, dropout_seed, name_of, random_state
from reference_agent.curriculum import (
    Stage,
    StageTasks,
    as_stages,
    best_iteration,
    for_learning,
    for_validation,
    improves_no_more,
    passed,
    validations,
)
from reference_agent.models.language_model import LanguageModel, NotFinite, check_finite
from reference_agent.models.saycan import WritingPolicy
from reference_agent.models.served import ServedModel
from reference_agent.players import Reflector, check_players
from reference_agent.rollout import make_envs, play, sample_episodes, success_rate
from reference_agent.run.bounds import check_kind, check_rate, refuse_given
from reference_agent.run.config import RLConfig
from reference_agent.run.fingerprint import training
from reference_agent.state import Shown, StateFunction, shown_by

Row = dict[str, float]

_log = logging.getLogger(__name__)
_SURE = 0.01  # nats of entropy
_TOO_SURE = (
    "the policy's entropy is %.4f nats: it always does the same, so RL has nothing to compare; take fewer steps in "
    "sft_policy, or give it sft_policy.doubt, with labels sft_policy.smoothing"
)


class TrainingInterrupted(Exception):  # noqa: N818 (not an error: the user asked for it)
    """Training was interrupted after a whole iteration, and saved if it has a folder.

    Attributes:
        curve: The learning curve so far.
    """

    def __init__(self, message: str = "stopped, and saved", curve: Sequence[Row] = ()) -> None:
        super().__init__(message)
        self.curve = list(curve)


def reinforce(
    policy: LanguageModel,
    reflector: Reflector | None,
    stages: Stage | Sequence[Stage],
    settings: RLConfig = RLConfig(),  # noqa: B008 - immutable
    *,
    history: History = 1,
    seed: int = 0,
    folder: Path | str | None = None,
    report: Callable[[Row], None] = lambda _: None,
    one_model: bool = False,
    allow_test: bool = False,
    state: StateFunction | None = None,
) -> list[Row]:
    """Train `policy` in place by reinforcement learning (lines 23 to 35).

    With `validate_every` each stage ends with its weights that were best on validation: those of now are validated
    before the first iteration, and the last ones at the end. The next stage begins with them, and the last stage's are
    what `policy` has then; the last weights are in the newest checkpoint of `folder`. Without validation, and after an
    interruption, `policy` has the last weights.

    Args:
        policy: The policy, as the warm start left it.
        reflector: The reflector, which is frozen, or None.
        stages: The curriculum. An id's tasks are of the split `"train"`, unless its `env_kwargs` name another.
        settings: Algorithm, batch, learning rate and so on.
        history: How much of the path p(s) shows; see `natlang_envs.prompt.state_prompt`.
        seed: Seed of tasks, labels and choices.
        folder: Folder of checkpoints and TensorBoard events, where a stopped run of these very arguments resumes, also
            with the policy as it was left; None keeps nothing.
        report: Called after each iteration with its row of the learning curve, such as `wandb.log`.
        one_model: Whether one model is both players (appendix E.2): the reflector's is `policy`, and learns.
        allow_test: Whether the splits may hold test tasks.
        state: A function of task, path, observation and commands that returns p(s), in place of `history`.

    Returns:
        The learning curve: one row per iteration, with the training success rate and mean return. Every
        `validate_every` iterations, and at the end of a stage, it has `"validation"`, the success of greedy games in
        that split, and `"best"`, the iteration whose weights are the best so far; 0 is before the first, whose row has
        `"validation_before"`.

    Raises:
        TrainingInterrupted: Ctrl-C was pressed; the last complete iteration is saved, and `curve` has the rows so far.
        UsageError: A split holds test tasks, both players are one model unasked, a setting has no effect, the folder is
            of other arguments or damaged, or training diverged.
    """
    check_kind(settings, RLConfig)
    seed, shown = check_count("seed", seed, 0), shown_by(history, state)
    stages = [for_learning(each, allow_test) for each in as_stages(stages)]
    _check(policy, reflector, stages, settings, one_model)
    spoken = reflector and one_model and [reflector.max_tokens, reflector.sampled]
    asked = {"stages": stages, "settings": settings, "history": shown, "seed": seed, "allow_test": allow_test}
    with training(folder, policy, job="reinforce", reflector=spoken or reflector, **asked) as folder:
        return _reinforced(policy, reflector, stages, settings, shown, seed, folder, report)


def check_settings(settings: RLConfig, model: Any, stages: Sequence[Stage]) -> None:
    """Raise `UsageError` for a setting without effect on a model of transformers or in these stages."""
    dropped = [each for each in model.modules() if isinstance(each, torch.nn.Dropout) and each.p]
    own = [each.attention_dropout for each in model.modules() if hasattr(each, "attention_dropout")]
    if not own:
        refuse_given(settings, ("dropout_rate",), "on this model, whose attention has none to set", "rl.")
    if not (dropped or settings.dropout_rate or any(own)):
        refuse_given(settings, ("dropout",), "on a model without dropout; rl.dropout_rate gives it some", "rl.")
    if 0 < (longest := max(each.iterations for each in stages)) < settings.validate_every:
        refuse_given(settings, ("validate_every",), f"in stages of at most {longest} iterations", "rl.")


def _check(
    policy: LanguageModel, reflector: Reflector | None, stages: Sequence[Stage], settings: RLConfig, one_model: bool
) -> None:
    if not stages:
        raise UsageError("there are no stages: give at least one")
    check_players(policy, reflector, one_model)
    check_rate(policy, settings)
    check_settings(settings, policy.model, stages)
    if isinstance(policy, WritingPolicy):
        refuse_given(settings, ("entropy",), "on a policy that writes: the entropy over all texts is not known", "rl.")
        always = "on a policy that writes, whose distance is always estimated"
        refuse_given(settings.options, ("exact_kl",), always, f"rl.{algorithm_name(settings.algorithm)}.")
    if not (reflector and isinstance(reflector.model, ServedModel)):
        refuse_given(settings, ("reflector_endpoint",), "here: reflect-rl train asks the server", "rl.")


def _reinforced(
    policy: LanguageModel,
    reflector: Reflector | None,
    stages: Sequence[Stage],
    settings: RLConfig,
    shown: Shown,
    seed: int,
    folder: Path | None,
    report: Callable[[Row], None],
) -> list[Row]:
    if reflector and reflector.model is not policy:
        reflector.freeze()
    own = vars(settings.options)
    critic = methods.make_critic(policy) if own.get("critic") else None
    for module in policy.model.modules() if settings.dropout_rate else ():
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = settings.dropout_rate
    checkpoints, rng = Checkpoints(folder, policy, critic), np.random.default_rng([seed, 4])
    before = checkpoints.reference() if own.get("reference_kl") else None
    unseen = [for_validation(each) for each in stages] if settings.validate_every else []
    games: dict[str, Any] = {"episodes": settings.validate_episodes, "greedy": True, "seed": seed}
    games |= {"state": shown} if callable(shown) else {"history": shown}
    games["one_model"] = reflector is not None and reflector.model is policy

    def validation(number: int) -> float:
        return success_rate(play(unseen[number], policy, reflector, **games))

    def forget() -> None:
        if reflector and not reflector.frozen:
            reflector.cache.clear()  # with other weights it would say something else

    def ended(number: int) -> bool:
        return passed(stages[number], number, curve) or improves_no_more(number, curve, settings.patience)

    progress = checkpoints.resume(Iterations) or Iterations(0, 0, [random_state(rng)], {}, [])
    (rng.bit_generator.state,) = progress.random
    if reflector:
        reflector.remember(progress.reflections)
    curve, beside = list(progress.curve), [*critic.parameters()] if critic else []
    policy.optimizer(settings.learning_rate)  # refuses weights that cannot be trained, before anything is played
    update = load_algorithm(settings.algorithm).update
    frozen, writes = _fingerprint(reflector), processes.number() == 0

    def save(number: int, iteration: int, optimizer: torch.optim.Optimizer) -> None:
        if writes:
            cache = reflector.cache if reflector else {}
            checkpoints.save(Iterations(number, iteration, [random_state(rng)], cache, curve), optimizer)

    events = SummaryWriter(str(folder / "tensorboard"), purge_step=len(curve)) if folder and writes else nullcontext()
    with _interruptible() as interrupted, events as writer:
        for number in range(progress.part, len(stages)):
            stage = stages[number]
            optimizer = policy.optimizer(settings.learning_rate, settings.weight_decay, beside)
            done = progress.step if number == progress.part else 0
            if done:
                checkpoints.load_optimizer(optimizer)
            start: Row = {}
            if validations(number, curve):
                checkpoints.keep(name_of(number, best_iteration(number, curve)), saved=True)
            elif unseen and stage.iterations and not done:
                start = {"validation_before": validation(number)}
                checkpoints.keep(name_of(number, 0))
                save(number, 0, optimizer)
            envs, tasks = make_envs(stage, settings.batch), StageTasks(stage)
            learner = Learner(policy, optimizer, settings, rng, critic, before)
            for iteration in range(done, stage.iterations):  # line 23
                if ended(number):
                    break
                for group in optimizer.param_groups:
                    group["lr"] = settings.learning_rate * (1 - 0.9 * iteration / stage.iterations)
                try:
                    with dropout_seed(seed, 5, number, iteration):
                        row = _iterate(envs, tasks, learner, reflector, shown, update)
                except NotFinite as error:
                    none = "there is no checkpoint yet, and the warm start stays"
                    kept = f"the last good checkpoint is {checkpoints.last}" if checkpoints.last else none
                    raise UsageError(
                        f"{error} in iteration {iteration + 1} of stage {number}: lower rl.learning_rate and train "
                        f"with another --out; {kept}"
                    ) from None
                forget()
                if not curve and row.get("entropy", _SURE) < _SURE:
                    _log.warning(_TOO_SURE, row["entropy"])
                row |= {"stage": number, "iteration": iteration + 1, **start}
                curve.append(row)
                start, finished = {}, iteration + 1 == stage.iterations or ended(number)
                if unseen and (finished or (iteration + 1) % settings.validate_every == 0):
                    row["validation"] = validation(number)
                    row["best"] = best_iteration(number, curve)
                better = row.get("best") == iteration + 1
                if better:
                    checkpoints.keep(name_of(number, iteration + 1))
                if writer:
                    for key, value in row.items():
                        writer.add_scalar(f"rl/{key}", value, len(curve))
                report(row)
                finished = finished or ended(number)
                stop = processes.anyone(interrupted())
                if better or finished or stop or (iteration + 1) % settings.checkpoint_every == 0:
                    save(number, iteration + 1, optimizer)
                if stop:
                    kept = f"saved in {folder}: the same call goes on" if folder else "not saved, without a folder"
                    raise TrainingInterrupted(f"stopped after {len(curve)} iterations, {kept}", curve)
            envs.close()
            tasks.close()
            if validations(number, curve) and (best := best_iteration(number, curve)) != curve[-1]["iteration"]:
                checkpoints.go_back(name_of(number, best))
                forget()
    if _fingerprint(reflector) != frozen:
        raise UsageError("the reflector's weights moved during RL fine-tuning: this is a bug, please report it")
    return curve


def _iterate(
    envs: Any,
    tasks: StageTasks,
    learner: Learner,
    reflector: Reflector | None,
    shown: Shown,
    update: Callable[..., Update],
) -> Row:
    """Sample a batch of trajectories and update the policy with it (lines 24 to 34)."""
    settings, model, rng = learner.config, learner.policy.model, learner.rng
    sampled = [tasks.draw(rng) for _ in range(settings.batch // settings.group)]
    task_ids = [task_id for task_id in sampled for _ in range(settings.group)]
    cut, written = (reflector.cut, reflector.written) if reflector else (0, 0)
    model.train(settings.dropout == "always")
    if processes.count() > 1:
        # The generator that all have in common draws a seed for each one's own part of the episodes.
        rng = np.random.default_rng([int(rng.integers(2**63)), processes.number()])
    played = sample_episodes(envs, processes.part(task_ids), learner.policy, reflector, shown, rng)  # lines 24 to 33
    episodes = processes.gather(played)
    model.train(settings.dropout != "off")
    result = update(learner, episodes)  # line 34
    model.eval()
    check_finite(learner.optimizer)
    row: Row = {}
    if reflector:
        counts = np.sum(processes.gather([(reflector.written - written, reflector.cut - cut)]), axis=0)
        row = {"reflections": float(counts[0]), "reflections_cut": float(counts[1])}
    row |= {
        "success": float(np.mean([each.success for each in episodes])),
        "return": float(np.mean([sum(each.rewards) for each in episodes])),
        "steps": float(np.mean([len(each.rewards) for each in episodes])),
    }
    return row | {name: value for name, value in result._asdict().items() if value is not None}


def _fingerprint(reflector: Reflector | None) -> str | None:
    """Return a digest of all that the reflector computes with, to see that not one bit has moved."""
    return None if reflector is None or not reflector.frozen else reflector.model.fingerprint()


@contextmanager
def _interruptible() -> Iterator[Callable[[], bool]]:
    """Turn the first Ctrl-C into a flag, so that an iteration ends whole; a second one stops at once."""
    pressed = False

    def on_interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        if pressed:
            raise KeyboardInterrupt
        pressed = True

    try:
        before = signal.signal(signal.SIGINT, on_interrupt)
    except ValueError:  # not in the main thread: somebody else handles Ctrl-C
        yield lambda: False
        return
    try:
        yield lambda: pressed
    finally:
        signal.signal(signal.SIGINT, before)
