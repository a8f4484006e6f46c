"""The Reflect-RL form: a reflector writes its beliefs in a sentence, a policy reads it and chooses a listed command.

The sentence is dictated by the scorer's beliefs, so the row is named scorer-assisted. The policy gets nothing from the
reflector but the text: percentages, grades and the suggestion are read out of it, by the names that it mentions.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from natlang_envs.autoexplore.repository.texts import EXIT, NEXT, PREVIOUS, UP
from reference_agent.search.belief import Belief, Search
from reference_agent.search.judge import Row
from reference_agent.search.planner import Plan, choose
from reference_agent.search.policy import Policy
from reference_agent.search.teacher import reflection

TEXT_INPUTS = 24
_GRADES = ("well", "in part", "poorly")
_NAMED = re.compile(r"(\S+) \((\d+)%\)")
_FITS = re.compile(r"(\S+) fits (well|in part|poorly)")
_SURE = re.compile(r"\((\d+)%\)\. Next: id ")


def read_sentence(said: str, search: Search, commands: Sequence[str]) -> Row:
    """Return the features [N, TEXT_INPUTS] of the listed commands, from a reflection and the player's path alone."""
    suggested = said.rpartition("Next: ")[2].removesuffix(".")
    chances = {name: int(percent) / 100 for name, percent in reversed(_NAMED.findall(said))}
    ranks = {name: rank for rank, (name, _) in reversed(list(enumerate(_NAMED.findall(said))))}
    grades = dict(_FITS.findall(said))
    sure = _SURE.search(said)
    certain = int(sure[1]) / 100 if sure else 0.0
    left = search.left / 15
    folder = "/".join(search.walk.here.folder)
    verb_suggested = suggested.partition(" ")[0]
    rows: list[list[float]] = []
    for command in commands:
        verb, _, name = command.partition(" ")
        read = f"{folder}/{name}".lstrip("/") in search.texts
        kinds = [command == EXIT, command == UP, command == NEXT, command == PREVIOUS]
        kinds += [verb == "cd" and command != UP, verb == "cat" and not read, verb == "cat" and read]
        kinds += [verb == "id" and read, verb == "id" and not read]
        named = name if verb in ("cd", "cat", "id") else ""
        told = [
            chances.get(named, 0.0),
            float(ranks.get(named, 3)) / 3,
            *(grades.get(named) == each for each in _GRADES),
        ]
        match = command == suggested
        told += [match, verb == verb_suggested, match * left, match * certain, match * (verb == "id")]
        told += [left, certain, float(len(search.texts)) / 10, match * (verb == "id") * left, float(not suggested)]
        rows.append([float(each) for each in (*kinds, *told)])
    return np.array(rows, np.float32)


class Reflecting:
    """The reflector and the policy's reading of it, as inputs for `practice`.

    Args:
        plan: By which the reflector suggests what to do next.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    def say(self, search: Search, belief: Belief) -> str:
        """Return the reflection."""
        return reflection(search, belief, choose(search, belief, self._plan))

    def __call__(self, search: Search, belief: Belief, commands: Sequence[str]) -> Row:
        """Return what the policy reads."""
        return read_sentence(self.say(search, belief), search, commands)


def new_policy(reflects: bool) -> Policy:
    """Return an untrained policy: one that reads the reflector's sentence, or one that sees the beliefs' numbers."""
    return Policy(features=TEXT_INPUTS) if reflects else Policy()


def read_policy(file: Path, reflects: bool) -> Policy:
    """Return a policy that training has written."""
    policy = new_policy(reflects)
    policy.load_state_dict(torch.load(file, weights_only=True))
    return policy
