"""A small network that chooses among the listed commands, from what the search knows; and how it learns by reward.

Its inputs are numbers of the state of the search for each command: chances, distances, steps left; no planner's plan.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
import torch
from torch import Tensor, nn

from natlang_envs.autoexplore.repository.texts import EXIT, NEXT, PREVIOUS, UP
from natlang_envs.autoexplore.search import Place
from reference_agent.search.belief import Belief, Search
from reference_agent.search.judge import Row

COMMAND_FEATURES = 27
_TINY = 1e-4


def command_features(search: Search, belief: Belief, commands: Sequence[str]) -> Row:
    """Return the features [N, COMMAND_FEATURES] of the listed commands."""
    walk, here, left = search.walk, search.walk.here, search.left
    folder = "/".join(here.folder)
    prefix = f"{folder}/" if folder else ""
    unread = {thing.path: chance for thing, chance in belief.things.items() if thing.kind == "file"}
    read = {thing.path: chance for thing, chance in belief.read.items()}
    closed = {thing.path: chance for thing, chance in belief.things.items() if thing.kind == "folder"}
    pages = {thing.path: chance for thing, chance in belief.things.items() if thing.kind == "page"}
    surest = max(belief.read, key=belief.read.__getitem__, default=None)
    sure = belief.read[surest] if surest else 0.0
    back = walk.steps(here, surest.listed) + 1 if surest else 0
    best = max((*belief.things.values(), _TINY))
    state = [sure, left / 15, (left - back) / 15, float(surest is not None), len(here.folder) / 3, float(back == 1)]

    def below(top: str) -> tuple[float, float, float]:
        """Return the chance below a folder, its best thing's, and that by steps to it from here."""
        mass, most, rate = 0.0, 0.0, 0.0
        for thing, chance in belief.things.items():
            if thing.path.startswith(top):
                mass += chance
                most = max(most, chance)
                rate = max(rate, chance / (walk.steps(here, thing.listed) + 1 + (thing.kind != "file")))
        return mass, most, rate

    inside = below(prefix)
    everywhere = below("")
    rows: list[list[float]] = []
    for command in commands:
        verb, _, name = command.partition(" ")
        kind = [0.0] * 9
        chance = most = rate = 0.0
        home = False  # whether the surest file lies this way
        if command == EXIT:
            kind[0] = 1
        elif command == UP:
            kind[1] = 1
            chance = everywhere[0] - inside[0]
            outside = [
                (value, walk.steps(here, thing.listed) + 1 + (thing.kind != "file"))
                for thing, value in belief.things.items()
                if not thing.path.startswith(prefix)
            ]
            most = max((value for value, _ in outside), default=0.0)
            rate = max((value / steps for value, steps in outside), default=0.0)
            home = surest is not None and not surest.path.startswith(prefix)
        elif command in (NEXT, PREVIOUS):
            kind[2 if command == NEXT else 3] = 1
            after = Place(here.folder, here.page + (1 if command == NEXT else -1))
            values = [
                value
                for thing, value in belief.things.items()
                if thing.kind == "file"
                and thing.listed.folder == here.folder
                and (thing.listed.page > here.page) == (command == NEXT)
                and thing.listed.page != here.page
            ]
            unseen = pages.get(prefix if folder else "/", 0.0) if command == NEXT else 0.0
            chance = sum(values) + unseen
            most = max((*values, unseen))
            rate = most / 2
            home = (
                surest is not None
                and surest.listed.folder == here.folder
                and (abs(surest.listed.page - after.page) < abs(surest.listed.page - here.page))
            )
        elif verb == "cd":
            path = f"{prefix}{name}/"
            if path in closed:
                kind[4] = 1
                chance = most = closed[path]
                rate = chance / 2
            else:
                kind[5] = 1
                chance, most, rate = below(path)
                home = surest is not None and surest.path.startswith(path)
        else:
            path = prefix + name
            known = path in read
            chance = most = read[path] if known else unread.get(path, 0.0)
            if verb == "cat":
                kind[6] = float(not known)
                rate = 0.0 if known else chance
            else:
                kind[7 if known else 8] = 1
            home = surest is not None and surest.path == path
        shown = [chance, float(np.log(chance + _TINY)) / 5, float(np.log(most + _TINY)) / 5]
        shown += [float(np.log(rate + _TINY)) / 5, float(np.log(most / best + _TINY)) / 5, float(home), most]
        rows.append(
            [
                *kind,
                *shown,
                *state,
                chance * state[1],
                float(home) * state[2],
                sure * float(home),
                float(kind[7]) * sure,
                float(left <= back + 1 and home),
            ]
        )
    return np.array(rows, np.float32)


class Policy(nn.Module):
    """A network with two hidden layers that scores commands one by one.

    Args:
        width: Of its hidden layers.
        features: How many numbers tell of a command.
    """

    def __init__(self, width: int = 48, features: int = COMMAND_FEATURES) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(features, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1)
        )

    def forward(self, rows: Tensor) -> Tensor:
        """Return the logits [..., N] of commands' features [..., N, F]."""
        return self.layers(rows)[..., 0]

    def logits(self, rows: Row) -> Row:
        """Return the logits [N] of one step's commands."""
        with torch.no_grad():
            return self(torch.from_numpy(rows)).numpy()


def pad(steps: Sequence[Row]) -> tuple[Tensor, Tensor]:
    """Return the features [B, N, F] of steps with different numbers of commands, and which rows are there [B, N]."""
    widest = max(len(each) for each in steps)
    rows = np.zeros((len(steps), widest, steps[0].shape[1]), np.float32)
    there = np.zeros((len(steps), widest), bool)
    for index, each in enumerate(steps):
        rows[index, : len(each)] = each
        there[index, : len(each)] = True
    return torch.from_numpy(rows), torch.from_numpy(there)


@dataclass
class Trace:
    """A game as training sees it: each step's features and choice, and what it earned."""

    rows: list[Row]
    chosen: list[int]
    rewards: list[float]
    success: bool


def imitate(
    policy: Policy,
    traces: Sequence[Trace],
    epochs: int,
    rate: float,
    seed: int,
    least_steps: int = 0,
) -> None:
    """Fit a policy to the choices of traces, in so many passes or in more, for `least_steps` steps of the optimizer."""
    rng = np.random.default_rng(seed)
    rows = [row for trace in traces for row in trace.rows]
    chosen = torch.tensor([choice for trace in traces for choice in trace.chosen])
    optimizer = torch.optim.AdamW(policy.parameters(), lr=rate, weight_decay=1e-4)
    parts = max(len(rows) // 256, 1)
    epochs = max(epochs, ceil(least_steps / parts))
    for epoch in range(epochs):
        optimizer.param_groups[0]["lr"] = rate * (1 - epoch / epochs)
        for part in np.array_split(rng.permutation(len(rows)), parts):
            data, there = pad([rows[index] for index in part])
            logits = policy(data).masked_fill(~there, -1e9)
            answers = chosen[torch.from_numpy(part)]
            loss = nn.functional.cross_entropy(logits, answers)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


def reinforce(
    policy: Policy,
    optimizer: torch.optim.Optimizer,
    groups: Sequence[Sequence[Trace]],
    scale: float,
    entropy: float = 0.0,
) -> None:
    """Take one step of REINFORCE on the game's return; the baseline is the mean of the question's other games."""
    rows: list[Row] = []
    chosen: list[int] = []
    weights: list[float] = []
    for group in groups:
        returns = [sum(trace.rewards) for trace in group]
        for index, trace in enumerate(group):
            others = [value for place, value in enumerate(returns) if place != index]
            advantage = (returns[index] - (float(np.mean(others)) if others else 0.0)) / scale
            rows += trace.rows
            chosen += trace.chosen
            weights += [advantage] * len(trace.rows)
    data, there = pad(rows)
    chances = torch.log_softmax(policy(data).masked_fill(~there, -1e9), 1)
    picked = chances.gather(1, torch.tensor(chosen)[:, None])[:, 0]
    loss = -(picked * torch.tensor(weights)).mean()
    if entropy:
        loss = loss + entropy * (chances.exp() * chances.clamp(min=-30)).sum(1).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
    optimizer.step()
