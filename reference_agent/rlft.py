"""RL fine-tuning through a curriculum: Algorithm 1, lines 23 to 35, with checkpoints, exact resume, a learning curve.

The reflector is frozen. Each stage of the curriculum goes on with the policy of the stage before; its own optimizer
and learning-rate schedule begin anew.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np
import torch
from torch.utils.tensorboard import SummaryWriter

from natlang_envs.errors import UsageError
from reference_agent import checkpoint as checkpoints
from reference_agent import processes
from reference_agent.algorithms import gigpo, ppo, reinforce, rloo
from reference_agent.algorithms.policy_gradient import Learner, Update
from reference_agent.algorithms.replay import Replay
from reference_agent.checkpoint import Progress
from reference_agent.config import Config
from reference_agent.curriculum import Tasks, passed
from reference_agent.models.language_model import LanguageModel, NotFinite, check_finite
from reference_agent.players import Reflector
from reference_agent.rollout import Episode, make_envs, sample_episodes

Row = dict[str, float]

ALGORITHMS: dict[str, Callable[[Learner, Sequence[Episode]], Update]] = {
    "reinforce": reinforce.update,
    "rloo": rloo.update,
    "ppo": ppo.update,
    "gigpo": gigpo.update,
}


class Stopped(Exception):  # noqa: N818 (not an error: the user asked for it)
    """Training was interrupted after a whole iteration and saved."""


def fine_tune(
    policy: LanguageModel, reflector: Reflector | None, config: Config, folder: Path, report: Callable[[Row], None]
) -> list[Row]:
    """Train `policy` in place.

    Args:
        policy: The policy's model, as the warm start left it.
        reflector: The frozen reflector, or None; one that is not frozen is `policy` itself.
        config: The settings.
        folder: Where checkpoints and TensorBoard events go; the newest checkpoint there is resumed.
        report: Called after each iteration with its row of the learning curve.

    Returns:
        The learning curve: one row an iteration, with the training success rate and mean return.

    Raises:
        Stopped: Ctrl-C was pressed; the last whole iteration is saved.
        UsageError: The checkpoint is damaged or of another model.
    """
    progress = Progress(0, 0, checkpoints.random_state(np.random.default_rng([config.seed, 4])), {}, [])
    last = checkpoints.newest(folder)
    if last is not None:
        progress = checkpoints.load_progress(last, Progress)
        checkpoints.load_weights(last, policy)
    rng = checkpoints.restore_random(progress.random)
    if reflector is not None:
        reflector.cache.update(progress.reflections)
    curve = list(progress.curve)
    replay = Replay(config.rl, progress.replay)
    critic = ppo.make_critic(policy) if config.rl.critic else None
    for module in policy.model.modules() if config.rl.dropout_rate else ():
        if hasattr(module, "attention_dropout"):
            module.attention_dropout = config.rl.dropout_rate
    if last is not None and critic is not None:
        checkpoints.load_critic(last, critic)
    trained = [*policy.parameters(), *(critic.parameters() if critic is not None else ())]
    frozen = _fingerprint(reflector)
    writes = processes.number() == 0
    with _interruptible() as interrupted, _events(folder, len(curve)) as record:
        for number in range(progress.stage, len(config.curriculum)):
            stage = config.curriculum[number]
            optimizer = torch.optim.AdamW(trained, lr=config.rl.learning_rate, weight_decay=config.rl.weight_decay)
            done = progress.iteration if number == progress.stage else 0
            if last is not None and done:
                checkpoints.load_optimizer(last, optimizer)
            envs, tasks = make_envs(stage, config), Tasks(stage, config)
            learner = Learner(policy, optimizer, config.rl, rng, critic)
            for iteration in range(done, stage.iterations):
                if passed(stage, number, curve):
                    break
                for group in optimizer.param_groups:
                    group["lr"] = config.rl.learning_rate * (1 - 0.9 * iteration / stage.iterations)
                try:
                    with checkpoints.dropout_seed(config.seed, 5, number, iteration):
                        row = _iterate(envs, tasks, learner, reflector, config, replay)
                except NotFinite as error:
                    raise _diverged(f"{error} in iteration {iteration + 1} of stage {number}", folder) from None
                if reflector is not None and not reflector.frozen:
                    reflector.cache.clear()  # after the update it would say something else
                row |= {"stage": number, "iteration": iteration + 1}
                curve.append(row)
                record(row, len(curve))
                report(row)
                finished = iteration + 1 == stage.iterations or passed(stage, number, curve)
                stop = processes.anyone(interrupted())
                if writes and (finished or stop or (iteration + 1) % config.rl.checkpoint_every == 0):
                    cache = reflector.cache if reflector else {}
                    state = Progress(number, iteration + 1, checkpoints.random_state(rng), cache, curve, replay.state())
                    checkpoints.save(folder, policy, optimizer, state, critic=critic)
                if stop:
                    raise Stopped
            envs.close()
            tasks.close()
    if _fingerprint(reflector) != frozen:
        raise UsageError("the reflector's weights moved during RL fine-tuning: this is a bug, please report it")
    return curve


def _diverged(what: str, folder: Path) -> UsageError:
    good = checkpoints.newest(folder)
    kept = f"the last good checkpoint is {good}" if good else "there is no checkpoint yet, and the warm start stays"
    return UsageError(f"{what}: lower rl.learning_rate and train with another --out; {kept}")


def _iterate(
    envs: Any,
    tasks: Tasks,
    learner: Learner,
    reflector: Reflector | None,
    config: Config,
    replay: Replay,
) -> Row:
    """Sample a batch of trajectories and update the policy once through it."""
    drawn = [tasks.draw(learner.rng) for _ in range(config.rl.batch // config.rl.group)]
    task_ids = [task_id for task_id in drawn for _ in range(config.rl.group)]
    model = learner.policy.model
    model.train(config.rl.dropout == "always")
    rng = learner.rng
    if processes.count() > 1:
        # The generator that all have in common draws a seed for each one's own part of the episodes.
        rng = np.random.default_rng([int(rng.integers(2**63)), processes.number()])
    played = sample_episodes(
        envs, processes.part(task_ids), learner.policy, reflector, config.history, rng, config.rl.explore
    )
    episodes = processes.gather(played)
    model.train(config.rl.dropout != "off")
    result = ALGORITHMS[config.rl.algorithm](learner, episodes)
    if config.rl.replay:
        replay.update(learner, episodes)
    model.eval()
    check_finite(learner.optimizer)
    return {
        "success": float(np.mean([each.success for each in episodes])),
        "return": float(np.mean([sum(each.rewards) for each in episodes])),
        "steps": float(np.mean([len(each.rewards) for each in episodes])),
    } | {name: value for name, value in result._asdict().items() if value is not None}


@contextmanager
def _events(folder: Path, done: int) -> Iterator[Callable[[Row, int], None]]:
    """Give what writes a row of the curve for TensorBoard; of several processes only the first writes."""
    if processes.number() > 0:
        yield lambda row, number: None
        return
    with SummaryWriter(str(folder / "tensorboard"), purge_step=done) as writer:

        def record(row: Row, number: int) -> None:
            for key, value in row.items():
                writer.add_scalar(f"rl/{key}", value, number)

        yield record


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
