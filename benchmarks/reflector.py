"""What a run's reflector is worth by itself, on held-out tasks: it bounds a policy that only reads it.

`python benchmarks/reflector.py RUN --protocol dangerous-taxi-pickup/paper` prints two counts: the games that a player
wins who does what the reflection names, and nothing else; and, along the teacher's own way through the same tasks, the
states where the reflection names the teacher's very command, by the command's first word.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import torch

from natlang_envs.env import unwrap
from natlang_envs.evaluation import AgentInput, evaluate, load_protocol
from natlang_envs.evaluation.agents import Decision
from natlang_envs.evaluation.protocols import Protocol
from natlang_envs.prompt import PathStep, state_prompt
from reference_agent.config import Config
from reference_agent.players import Reflector
from reference_agent.stages import load_player, read_config
from reference_agent.teachers.base import Moment, ask, named_commands
from reference_agent.teachers.choose import make_teacher


class Follower:
    """Does what the reflection names last; where it names no listed command, says the reflection itself."""

    def __init__(self, reflector: Reflector, config: Config) -> None:
        self._reflector = reflector
        self._history = config.history

    def act(self, views: Sequence[AgentInput]) -> list[Decision]:
        """Return a decision for each view."""
        said = self._reflector.reflect([view.prompt(self._history) for view in views])
        return [
            Decision((named_commands(text, view.admissible_commands) or [text])[-1], text, 0)
            for view, text in zip(views, said, strict=True)
        ]


def agreement(reflector: Reflector, config: Config, protocol: Protocol) -> dict[str, tuple[int, int]]:
    """Return, by the command's first word, how often the teacher's command is named, and how often it is given."""
    env = unwrap(protocol.make_env())
    teacher = make_teacher(env, np.random.default_rng(config.seed), config.teacher)
    states: list[str] = []
    taught: list[tuple[str, tuple[str, ...]]] = []
    for episode in protocol.episodes:
        observation, info = env.reset(seed=episode.seed, options={"task_id": episode.task_id})
        path: list[PathStep] = []
        ended = False
        while not ended:
            state = state_prompt(info["task"], path, observation, history=config.history)
            shown = tuple(path[max(0, len(path) - config.history) :])
            action = ask(teacher, Moment(env, state, tuple(path), shown, observation, info)).action
            states.append(state)
            taught.append((action, info["admissible_commands"]))
            observation, _, terminated, truncated, info = env.step(action)
            path.append(PathStep(action, info["feedback"]))
            ended = terminated or truncated
    right, given = Counter[str](), Counter[str]()
    for text, (action, commands) in zip(reflector.reflect(states), taught, strict=True):
        given[action.split()[0]] += 1
        right[action.split()[0]] += named_commands(text, commands)[-1:] == [action]
    return {verb: (right[verb], given[verb]) for verb in sorted(given)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path, help="a folder of reflect-rl train, or a cell of reflect-rl reproduce")
    parser.add_argument("--protocol", required=True)
    parser.add_argument("--games", type=int, help="only so many, the first")
    chosen = parser.parse_args()
    config = read_config(chosen.run)
    torch.set_num_threads(config.threads)
    reflector = Reflector(load_player(config, chosen.run, "reflector"), config.reflection_tokens)
    whole = load_protocol(chosen.protocol)
    protocol = replace(whole, episodes=whole.episodes[: chosen.games])
    _, games = evaluate(Follower(reflector, config), protocol)
    print(
        f"A player that does what the reflector says wins {sum(each.success for each in games)} of {len(games)} games."
    )
    counts = agreement(reflector, config, protocol)
    right, given = (sum(each[at] for each in counts.values()) for at in (0, 1))
    verbs = ", ".join(f"{verb} {named} of {said}" for verb, (named, said) in counts.items())
    print(f"It names the teacher's command in {right} of {given} states: {verbs}.")


if __name__ == "__main__":
    main()
