"""Trains menders: on what code looks like, then by imitation of a teacher that sees the bug, then by reward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from natlang_envs.change.listed_edits.env import STARTS, AutoExploreChangeEnv, Start
from natlang_envs.errors import UsageError
from natlang_envs.repository.mutations import Edit, apply, edits
from natlang_envs.tasks import check_learning_split
from natlang_judges import learning
from natlang_judges.learning import Report, RewardSettings, SeedReport, TrainedJudge, take_step
from natlang_judges.mender.code import EditFeatures, KnownCode
from natlang_judges.mender.network import MENDER, MenderNetwork
from natlang_judges.mender.options import Choose, OptionFeatures
from natlang_judges.mender.seen import EDIT, FOLDER, PAGE, RUN, TEXT, Option

GAMES = 24  # tasks of an update by reward
_BATCH = 48
_NEAR, _LINES = 30, 12  # a broken line is compared with at most 12 others, at most 30 lines away
_SCRIPTED, _OWN = 0.7, 0.5  # games in which the teacher reads the shown test first; steps that the network chooses

# Each starts from the imitating network: the curriculum, and as many updates from the top folder alone.
BY_REWARD: dict[str, Sequence[Start]] = {"reward": ("line", "file", "repository"), "direct": ("repository",)}

Features = NDArray[np.floating]


@dataclass(frozen=True, kw_only=True)
class MenderSettings(RewardSettings):
    updates: int = 60  # for all starts together
    bugs: int = 40  # put into each file, to learn what code looks like
    epochs: int = 3  # passes over the bugs
    rounds: int = 3  # of imitation; in each, the teacher plays every task from every start
    passes: int = 8  # over the teacher's choices so far, in each round
    rate: float = 3e-3  # learning rate of imitation


class Bugs:
    """Tasks, and an environment for each start.

    Args:
        most: The number of tasks at most; None for all.
        arguments: Of the environments, such as `dataset`. The split is `"train"` by default; a `repository` has none.

    Raises:
        UsageError: The split may hold test tasks.
    """

    def __init__(self, most: int | None = None, **arguments: Any) -> None:
        if "repository" not in arguments:
            check_learning_split(arguments.setdefault("split", "train"), allow_test=False)
        self.envs: dict[Start, AutoExploreChangeEnv] = {
            start: AutoExploreChangeEnv(start=start, **arguments) for start in STARTS
        }
        self.names = sorted(self.envs["line"].tasks.ids())[:most]
        self.about: dict[str, Any] = {**arguments, "tasks": len(self.names)}

    def sources(self) -> list[str]:
        """Return the unbroken Python files of the tasks' repositories, without tests."""
        roots: dict[Path, None] = {}
        env = self.envs["repository"]
        for name in {name.partition("/")[0]: name for name in self.names}.values():
            env.reset(options={"task_id": name})
            roots[env.change_task.repository.root] = None
        files = [(root, file) for root in roots for file in sorted(root.rglob("*.py"))]
        return [file.read_text("utf-8") for root, file in files if "test" not in file.relative_to(root).as_posix()]


def train_menders(
    out: Path, seeds: int, settings: MenderSettings, report: SeedReport, train: Bugs, validation: Bugs
) -> list[TrainedJudge]:
    """Train a mender for each seed: by imitation, then from it by reward, with the curriculum and without.

    See `train_seeds`. Nothing is chosen by the validation tasks.
    """

    def imitation(folder: Path, seed: int, report: Report) -> MenderNetwork:
        network, rng = MenderNetwork(), np.random.default_rng([seed, 0])
        learn_code(network, train, settings, rng)
        imitate(network, train, settings, rng, report)
        return network

    def by_reward(number: int, starts: Sequence[Start], folder: Path, seed: int, report: Report) -> MenderNetwork:
        network, rng = MENDER.read(folder / "imitation.safetensors"), np.random.default_rng([seed, number])
        reinforce(network, train, starts, settings, rng, report)
        return network

    def measure(network: MenderNetwork) -> dict[str, float]:
        return {f"from the {start}": sum(won) / len(won) for start, won in wins(network, validation).items()}

    stages = {stage: partial(by_reward, at, starts) for at, (stage, starts) in enumerate(BY_REWARD.items(), 1)}
    about = {**train.about, **asdict(settings)}
    return learning.train_seeds(out, seeds, about, MENDER, {"imitation": imitation, **stages}, measure, report)


def play(network: MenderNetwork, env: AutoExploreChangeEnv, task_id: str, choose: Choose) -> bool:
    """Play a task and return whether it is won; `choose` returns the number of the option to take."""
    observation, info = env.reset(options={"task_id": task_id})
    seen = OptionFeatures(info["task"], network.rank)
    command = ""
    while True:
        seen.look(observation, info["admissible_commands"], command, info["feedback"])
        command = seen.command(choose)
        observation, _, ended, _, info = env.step(command)
        if ended:
            return bool(info["success"])


def wins(network: MenderNetwork, bugs: Bugs) -> dict[Start, list[bool]]:
    """Return which tasks are won greedily, for each start."""

    def choose(_: OptionFeatures, __: list[Option], features: Features) -> int:
        return network.choose(features, None)

    return {start: [play(network, env, name, choose) for name in bugs.names] for start, env in bugs.envs.items()}


def lessons(text: str, bugs: int, rng: np.random.Generator) -> Iterator[list[EditFeatures]]:
    """Yield lessons from a source: the edits of a broken line, of which the first mends it, and of lines near it."""
    try:
        listed = edits(text)
    except UsageError:  # of another Python
        return
    whole = KnownCode(dict(enumerate(text.split("\n"), 1)))
    of_line: dict[int, list[Edit]] = {}
    for edit in listed:
        begins = text.rfind("\n", 0, edit.start) + 1
        here = edit._replace(start=edit.start - begins, end=edit.end - begins)
        of_line.setdefault(edit.line, []).append(here)
    every = [edit for found in of_line.values() for edit in found]
    features: dict[int, EditFeatures] = {}
    for bug in _varied([every[at] for at in rng.permutation(len(every))], bugs):
        line = whole.lines[bug.line]
        broken = apply(line, bug)
        after = [line]
        for edit in of_line[bug.line]:
            if (edit.start, edit.end) == (bug.start, bug.end):
                after.append(apply(line, edit))
            elif edit.end <= bug.start or edit.start >= bug.end:
                after.append(apply(apply(line, max(edit, bug)), min(edit, bug)))
        others = [each for each in dict.fromkeys(map(str.strip, after)) if each != broken.strip()]
        own = KnownCode({**whole.lines, bug.line: broken}).features(bug.line, others)
        near = [number for number in of_line if number != bug.line and abs(number - bug.line) <= _NEAR]
        some = [near[at] for at in rng.permutation(len(near))[:_LINES]]
        for number in {*some} - features.keys():
            read = [apply(whole.lines[number], edit).strip() for edit in of_line[number]]
            features[number] = whole.features(number, read)
        yield [own, *(features[number] for number in some)]


def _varied(found: Sequence[Edit], count: int) -> Iterator[Edit]:
    """Yield some of the edits, at most a fifth of them by one operator, as the tasks are varied."""
    room = Counter({edit.operator: max(1, count // 5) for edit in found})
    for edit in found:
        if count and room[edit.operator]:
            room[edit.operator] -= 1
            count -= 1
            yield edit


def learn_code(network: MenderNetwork, train: Bugs, settings: MenderSettings, rng: np.random.Generator) -> None:
    """Train the scores of edits on the unbroken sources of the tasks."""
    found = [lesson for text in train.sources() for lesson in lessons(text, settings.bugs, rng)]
    steps = max(1, settings.epochs * (len(found) // _BATCH))
    optimizer = torch.optim.AdamW([*network.contexts.parameters(), *network.code.parameters()], weight_decay=3e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.rate * 2, total_steps=steps + 1)
    network.train()
    for order in (rng.permutation(len(found)) for _ in range(settings.epochs)):
        for at in range(0, len(order) - _BATCH + 1, _BATCH):
            part = [found[each] for each in order[at : at + _BATCH]]
            every = (torch.from_numpy(np.concatenate(each)) for each in zip(*chain(*part), strict=True))
            scores = network.edits(*every).split([sum(len(each.ids) for each in lesson) for lesson in part])
            loss = torch.zeros(())
            for lesson, here in zip(part, scores, strict=True):
                own = here[: len(lesson[0].ids)]
                loss = loss + torch.logsumexp(own, 0) + torch.logsumexp(here, 0) - 2 * own[0]
            take_step(network, optimizer, loss / _BATCH)
            schedule.step()
    network.eval()


def right(env: AutoExploreChangeEnv, options: Sequence[Option]) -> list[int]:
    """Return the options that lead to a repair, as far as is seen (privileged)."""
    task = env.change_task
    source = task.source(task.file)
    mending = {(source.edits[number].line, source.edited(number).preview) for number in task.right()}
    lines = {line for line, _ in mending}
    return _first_fitting(
        options,
        lambda each: each.kind == EDIT and each.path == task.file and (each.number, each.text) in mending,
        lambda each: each.kind == EDIT and each.path == task.file and each.number in lines,
        lambda each: each.kind == PAGE and each.path == task.file,
        lambda each: each.kind == FOLDER and task.file.startswith(f"{each.path}/"),
    )


def script(seen: OptionFeatures, options: Sequence[Option]) -> list[int]:
    """Return the options that lead to the shown test's text, none once it was read."""
    if seen.body:
        return []
    file, folder = seen.shown.partition("::")[0], f"{seen.folder}/"
    if not file:
        return _first_fitting(options, lambda each: each.kind == RUN)
    return _first_fitting(
        options,
        lambda each: each.kind == TEXT and each.path == file,
        lambda each: each.kind == FOLDER and file.startswith(f"{each.path}/"),
        lambda each: each.kind == FOLDER and folder.startswith(f"{each.path}/" if each.path else ""),
    )


def _first_fitting(options: Sequence[Option], *ways: Callable[[Option], bool]) -> list[int]:
    found = ([at for at, each in enumerate(options) if fits(each)] for fits in ways)
    return next(filter(None, found), [])


def imitate(
    network: MenderNetwork, train: Bugs, settings: MenderSettings, rng: np.random.Generator, report: Report
) -> None:
    """Train by imitation of a teacher that reads the shown test, goes to the bug and mends it.

    The network chooses some of the steps, so that it learns from where it would go itself.
    """
    optimizer = torch.optim.AdamW(network.chooser(), settings.rate, weight_decay=1e-2)
    taught: list[tuple[Features, list[int]]] = []
    for turn in range(settings.rounds):
        won: list[bool] = []
        for env in train.envs.values():
            won += [play(network, env, name, _teacher(network, env, taught, rng)) for name in train.names]
        for order in (rng.permutation(len(taught)) for _ in range(settings.passes)):
            for at in range(0, len(order), _BATCH):
                part = [taught[each] for each in order[at : at + _BATCH]]
                found = _log_probabilities(network, [features for features, _ in part])
                losses = [-torch.logsumexp(each[good], 0) for each, (_, good) in zip(found, part, strict=True)]
                take_step(network, optimizer, torch.stack(losses).mean())
        report(turn + 1, settings.rounds, sum(won) / len(won))


def _teacher(
    network: MenderNetwork,
    env: AutoExploreChangeEnv,
    taught: list[tuple[Features, list[int]]],
    rng: np.random.Generator,
) -> Choose:
    scripted = rng.random() < _SCRIPTED

    def choose(seen: OptionFeatures, options: list[Option], features: Features) -> int:
        first = script(seen, options) if scripted else []
        good = first or right(env, options)
        if good:
            taught.append((features.astype(np.float16), good))
        if first or (good and rng.random() >= _OWN):
            return good[int(rng.integers(len(good)))]
        return network.choose(features, rng)

    return choose


def _log_probabilities(network: MenderNetwork, states: Sequence[Features]) -> list[Tensor]:
    scores = network.options(torch.from_numpy(np.concatenate(states)).float())
    return [torch.log_softmax(each, 0) for each in scores.split([len(each) for each in states])]


def reinforce(
    network: MenderNetwork,
    train: Bugs,
    starts: Sequence[Start],
    settings: MenderSettings,
    rng: np.random.Generator,
    report: Report,
) -> None:
    updates = settings.updates // len(starts) * len(starts)
    optimizer, schedule = learning.reward_optimizer(network.chooser(), settings, updates)
    states: list[tuple[Features, int]] = []  # of an update, and the option that was taken

    def choose(_: OptionFeatures, __: list[Option], features: Features) -> int:
        states.append((features.astype(np.float16), network.choose(features, rng)))
        return states[-1][1]

    for update in range(updates):
        states.clear()
        env = train.envs[starts[update * len(starts) // updates]]
        names = [train.names[each] for each in rng.integers(len(train.names), size=GAMES)]
        won, lengths = torch.zeros(GAMES, settings.samples, dtype=torch.float64), list[int]()
        for game in np.ndindex(won.shape):
            before = len(states)
            won[game] = play(network, env, names[game[0]], choose)
            lengths.append(len(states) - before)
        gains = learning.advantages(won).flatten().repeat_interleave(torch.tensor(lengths)).tolist()
        if any(gains):
            kept = [(features, taken, gain) for (features, taken), gain in zip(states, gains, strict=True) if gain]
            found = _log_probabilities(network, [features for features, _, _ in kept])
            taken = torch.stack([each[at] for each, (_, at, _) in zip(found, kept, strict=True)])
            loss = -(taken * torch.tensor([gain for _, _, gain in kept])).sum() / won.numel()
            take_step(network, optimizer, loss)
        schedule.step()
        report(update + 1, updates, won.mean().item())
