"""Teaches the judge: what code looks like, then by imitation of a teacher that sees the bug, then by reward."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import save
from torch import Tensor

from natlang_envs.autoexplore.changing.picking.env import STARTS, AutoExploreChangeEnv, Start
from natlang_envs.errors import UsageError
from natlang_envs.files import only_process, write_whole
from natlang_envs.repository.mutations import Edit, apply, edits
from natlang_envs.tasks import check_learning_split
from natlang_judges.mender.code import Code, Features
from natlang_judges.mender.desk import Choose, Desk
from natlang_judges.mender.judge import MENDER, Judge, chosen
from natlang_judges.mender.notes import EDIT, FOLDER, PAGE, RUN, TEXT, Option
from natlang_judges.searcher.run import SETTINGS
from reference_agent.run.inputs import claim_inputs

GAMES = 24  # tasks of an update by reward
_BATCH = 48
_NEAR, _LINES = 30, 12  # so far away, and so many, are the other lines that a broken one is compared with
_SCRIPTED, _OWN = 0.7, 0.5  # games in which the teacher reads the shown test first, and steps that the judge chooses

IMITATION = "imitation"
# Each begins with the imitated judge: the curriculum, and as many updates from the top folder alone.
BY_REWARD: dict[str, Sequence[Start]] = {"reward": ("line", "file", "repository"), "direct": ("repository",)}

Report = Callable[[int, int, float], None]
Numbers = NDArray[np.floating]


class Settings(NamedTuple):
    """How the judge learns.

    Attributes:
        bugs: Bugs that are put into each file, to learn what code looks like.
        rounds: Rounds of imitation; in each, the teacher plays every task from every start.
        epochs: Passes over the bugs.
        passes: Passes over what the teacher told so far, in each round.
        updates: Updates by reward, for all starts together.
        samples: Games of a task in an update; each is compared with the others.
        rate: Learning rate of imitation.
        reward_rate: Learning rate of reward at the start; it falls to 0.
    """

    bugs: int = 40
    rounds: int = 3
    epochs: int = 3
    passes: int = 8
    updates: int = 60
    samples: int = 4
    rate: float = 3e-3
    reward_rate: float = 1e-3


class Bugs:
    """Tasks, and an environment for each start.

    Args:
        most: How many tasks at most; None for all.
        arguments: Of the environments: `dataset` and so on. The split is `"train"` where none is named, and a
            `repository` of one's own has none.

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
        """Return the Python files of the tasks' repositories, as they are, without those of tests."""
        roots: dict[Path, None] = {}
        env = self.envs["repository"]
        for name in {name.partition("/")[0]: name for name in self.names}.values():
            env.reset(options={"task_id": name})
            roots[env.bench.shelf.root] = None
        files = [(root, file) for root in roots for file in sorted(root.rglob("*.py"))]
        return [file.read_text("utf-8") for root, file in files if "test" not in file.relative_to(root).as_posix()]


def play(judge: Judge, env: AutoExploreChangeEnv, task_id: str, choose: Choose) -> bool:
    """Play a task and return whether it is won; `choose` says which option is taken."""
    observation, info = env.reset(options={"task_id": task_id})
    desk = Desk(info["task"], judge.rank)
    command = ""
    while True:
        desk.look(observation, info["admissible_commands"], command, info["feedback"])
        command = desk.command(choose)
        observation, _, ended, _, info = env.step(command)
        if ended:
            return bool(info["success"])


def wins(judge: Judge, bugs: Bugs) -> dict[Start, list[bool]]:
    """Return which tasks are won greedily, for each start."""
    return {
        start: [play(judge, env, name, lambda _, __, numbers: chosen(judge, numbers, None)) for name in bugs.names]
        for start, env in bugs.envs.items()
    }


def lessons(text: str, bugs: int, rng: np.random.Generator) -> Iterator[list[Features]]:
    """Yield lessons made of a source as it is: the edits of a broken line, the first mends it, and of lines near it."""
    try:
        listed = edits(text)
    except UsageError:  # of another Python
        return
    whole = Code(dict(enumerate(text.split("\n"), 1)))
    of_line: dict[int, list[Edit]] = {}
    for edit in listed:
        begins = text.rfind("\n", 0, edit.start) + 1
        here = edit._replace(start=edit.start - begins, end=edit.end - begins)
        of_line.setdefault(edit.line, []).append(here)
    every = [edit for found in of_line.values() for edit in found]
    features: dict[int, Features] = {}
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
        own = Code({**whole.lines, bug.line: broken}).features(bug.line, others)
        near = [number for number in of_line if number != bug.line and abs(number - bug.line) <= _NEAR]
        some = [near[at] for at in rng.permutation(len(near))[:_LINES]]
        for number in {*some} - features.keys():
            read = [apply(whole.lines[number], edit).strip() for edit in of_line[number]]
            features[number] = whole.features(number, read)
        yield [own, *(features[number] for number in some)]


def _varied(found: Sequence[Edit], count: int) -> Iterator[Edit]:
    """Yield some of the edits, at most a fifth of an operator, as tasks are varied."""
    room = Counter({edit.operator: max(1, count // 5) for edit in found})
    for edit in found:
        if count and room[edit.operator]:
            room[edit.operator] -= 1
            count -= 1
            yield edit


def learn_code(judge: Judge, train: Bugs, settings: Settings, rng: np.random.Generator) -> None:
    """Teach what code looks like, from the unbroken sources of the tasks."""
    found = [lesson for text in train.sources() for lesson in lessons(text, settings.bugs, rng)]
    steps = max(1, settings.epochs * (len(found) // _BATCH))
    learned = [*judge.contexts.parameters(), *judge.code.parameters()]
    optimizer = torch.optim.AdamW(learned, weight_decay=3e-2)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, settings.rate * 2, total_steps=steps + 1)
    judge.train()
    for order in (rng.permutation(len(found)) for _ in range(settings.epochs)):
        for at in range(0, len(order) - _BATCH + 1, _BATCH):
            part = [found[each] for each in order[at : at + _BATCH]]
            every = (torch.from_numpy(np.concatenate(each)) for each in zip(*chain(*part), strict=True))
            scores = judge.edits(*every).split([sum(len(each.ids) for each in lesson) for lesson in part])
            loss = torch.zeros(())
            for lesson, here in zip(part, scores, strict=True):
                own = here[: len(lesson[0].ids)]
                loss = loss + torch.logsumexp(own, 0) + torch.logsumexp(here, 0) - 2 * own[0]
            _step(judge, optimizer, loss / _BATCH)
            schedule.step()
    judge.eval()


def _step(judge: Judge, optimizer: torch.optim.Optimizer, loss: Tensor) -> None:
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(judge.parameters(), 1.0)
    optimizer.step()


def right(env: AutoExploreChangeEnv, options: Sequence[Option]) -> list[int]:
    """Return the options that lead to a repair, as far as is seen (privileged)."""
    bench = env.bench
    source = bench.source(bench.file)
    mending = {(source.edits[number].line, source.edited(number).preview) for number in bench.right()}
    lines = {line for line, _ in mending}
    here = [(at, each) for at, each in enumerate(options) if each.path == bench.file]
    ways = (
        [at for at, each in here if each.kind == EDIT and (each.number, each.text) in mending],
        [at for at, each in here if each.kind == EDIT and each.number in lines],
        [at for at, each in here if each.kind == PAGE],
        [at for at, each in enumerate(options) if each.kind == FOLDER and bench.file.startswith(f"{each.path}/")],
    )
    return next((each for each in ways if each), [])


def script(desk: Desk, options: Sequence[Option]) -> list[int]:
    """Return the options that lead to the shown test's text, none once it was read."""
    if desk.body:
        return []
    if not desk.shown:
        return [at for at, each in enumerate(options) if each.kind == RUN]
    file = desk.shown.partition("::")[0]
    folders = [at for at, each in enumerate(options) if each.kind == FOLDER]
    ways = (
        [at for at, each in enumerate(options) if each.kind == TEXT and each.path == file],
        [at for at in folders if file.startswith(f"{options[at].path}/")],
        [at for at in folders if f"{desk.folder}/".startswith(f"{options[at].path}/" if options[at].path else "")],
    )
    return next((each for each in ways if each), [])


def imitate(judge: Judge, train: Bugs, settings: Settings, rng: np.random.Generator, report: Report) -> None:
    """Teach by imitation: the teacher reads the shown test, goes to the bug and mends it; at times the judge goes."""
    optimizer = torch.optim.AdamW(judge.chooser(), settings.rate, weight_decay=1e-2)
    told: list[tuple[Numbers, list[int]]] = []
    for turn in range(settings.rounds):
        won: list[bool] = []
        for env in train.envs.values():
            won += [play(judge, env, name, _teacher(judge, env, told, rng)) for name in train.names]
        for order in (rng.permutation(len(told)) for _ in range(settings.passes)):
            for at in range(0, len(order), _BATCH):
                part = [told[each] for each in order[at : at + _BATCH]]
                chances = _chances(judge, [numbers for numbers, _ in part])
                loss = torch.stack(
                    [-torch.logsumexp(each[list(good)], 0) for each, (_, good) in zip(chances, part, strict=True)]
                )
                _step(judge, optimizer, loss.mean())
        report(turn + 1, settings.rounds, sum(won) / len(won))


def _teacher(
    judge: Judge, env: AutoExploreChangeEnv, told: list[tuple[Numbers, list[int]]], rng: np.random.Generator
) -> Choose:
    scripted = rng.random() < _SCRIPTED

    def choose(desk: Desk, options: list[Option], numbers: Numbers) -> int:
        first = script(desk, options) if scripted else []
        good = first or right(env, options)
        if good:
            told.append((numbers.astype(np.float16), good))
        if first or (good and rng.random() >= _OWN):
            return good[int(rng.integers(len(good)))]
        return chosen(judge, numbers, rng)

    return choose


def _chances(judge: Judge, states: Sequence[Numbers]) -> list[Tensor]:
    scores = judge.think(torch.from_numpy(np.concatenate(states)).float())
    return [torch.log_softmax(each, 0) for each in scores.split([len(each) for each in states])]


def reinforce(
    judge: Judge, train: Bugs, starts: Sequence[Start], settings: Settings, rng: np.random.Generator, report: Report
) -> None:
    """Teach by reward from one start after another; a game is compared with the others of its task (RLOO)."""
    optimizer = torch.optim.AdamW(judge.chooser(), settings.reward_rate, weight_decay=1e-3)
    updates = settings.updates // len(starts) * len(starts)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=max(1, updates))
    states: list[Numbers] = []
    took: list[int] = []

    def choose(_: Desk, __: list[Option], numbers: Numbers) -> int:
        states.append(numbers.astype(np.float16))
        took.append(chosen(judge, numbers, rng))
        return took[-1]

    for update in range(updates):
        states.clear()
        took.clear()
        env = train.envs[starts[update * len(starts) // updates]]
        gains: list[float] = []
        every: list[bool] = []
        for name in (train.names[each] for each in rng.integers(len(train.names), size=GAMES)):
            games: list[tuple[int, bool]] = []
            for _ in range(settings.samples):
                since = len(states)
                won = play(judge, env, name, choose)
                games.append((len(states) - since, won))
            total = sum(won for _, won in games)
            for count, won in games:
                gains += [won - (total - won) / (settings.samples - 1)] * count
                every.append(won)
        if any(gains):
            kept = [at for at, gain in enumerate(gains) if gain]
            chances = _chances(judge, [states[at] for at in kept])
            said = torch.stack([each[took[at]] for each, at in zip(chances, kept, strict=True)])
            _step(judge, optimizer, -(said * torch.tensor([gains[at] for at in kept])).sum() / len(every))
        schedule.step()
        report(update + 1, updates, sum(every) / len(every))


class Result(NamedTuple):
    """A judge, and the share of validation tasks that it wins greedily, by where they start."""

    weights: Path
    won: dict[Start, float]


def train_menders(
    out: Path,
    seeds: int,
    settings: Settings,
    report: Callable[[str, int, int, float], None],
    train: Bugs,
    validation: Bugs,
) -> list[Result]:
    """Teach a judge for each seed: by imitation, then from it by reward, with the curriculum and without.

    Args:
        out: Gets `seed0/imitation.safetensors`, `seed0/reward.safetensors`, `seed0/direct.safetensors` and so on.
        seeds: How many judges; they begin with other weights and meet other bugs.
        settings: How long and how fast they learn.
        report: Called with a stage, a step, the steps, and the share of training games won.
        train: What they learn from.
        validation: What is played at the end of each stage; nothing is chosen by it.

    Raises:
        UsageError: The folder holds judges of other settings or tasks.
    """
    torch.set_num_threads(1)
    out.mkdir(parents=True, exist_ok=True)
    with only_process(out):
        claim_inputs(out / SETTINGS, {**train.about, **settings._asdict()})
        found: list[Result] = []
        for seed in range(seeds):
            folder = out / f"seed{seed}"
            folder.mkdir(exist_ok=True)
            for number, stage in enumerate((IMITATION, *BY_REWARD)):
                weights = folder / f"{stage}.safetensors"
                if not weights.exists():
                    rng = np.random.default_rng([seed, number])
                    torch.manual_seed(seed)
                    tell = partial(report, f"seed {seed}, {stage}")
                    if stage == IMITATION:
                        judge = Judge()
                        learn_code(judge, train, settings, rng)
                        imitate(judge, train, settings, rng, tell)
                    else:
                        judge = MENDER.read(folder / f"{IMITATION}.safetensors")
                        reinforce(judge, train, BY_REWARD[stage], settings, rng, tell)
                    write_whole(weights, save(dict(judge.state_dict())))
                games = wins(MENDER.read(weights), validation)
                found.append(Result(weights, {start: sum(won) / len(won) for start, won in games.items()}))
    return found
