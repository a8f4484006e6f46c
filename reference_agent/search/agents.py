"""Trained searchers as agents: `search:RUN/depth1`, `search-policy:RUN/depth1/0`, `search-reflect:RUN/depth1/0`.

`search` is the learned searcher, a planner over learned judgements. `search-policy` chooses by a trained policy without
reflection, `search-reflect` by one that reads the reflector's sentence; with `-sample` they draw. Without a kind behind
the run, any depth is played. All of them see only what a player is shown in the same game.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch

from natlang_envs.autoexplore.search import question_of, steps_left
from natlang_envs.errors import UsageError
from natlang_envs.evaluation.agents import AgentInput, Decision
from reference_agent.search.belief import Search, believe
from reference_agent.search.planner import Plan, choose
from reference_agent.search.policy import Policy, command_features
from reference_agent.search.practice import holds_of
from reference_agent.search.reflect import Reflecting, read_policy
from reference_agent.search.run import KINDS, Searcher
from reference_agent.search.teacher import reflection


class SearchAgent:
    """Plays with what a run has learned.

    Args:
        searcher: The run.
        kind: One of `KINDS`: where answers can lie.
        policy: What chooses; None for the planner.
        reflects: Whether the policy reads the reflector's sentence and nothing else.
        sampling: Whether the policy draws.
    """

    def __init__(
        self,
        searcher: Searcher,
        kind: str,
        policy: Policy | None = None,
        reflects: bool = False,
        sampling: bool = False,
    ) -> None:
        self._searcher, self._kind, self._policy, self._reflects = searcher, kind, policy, reflects
        self.sampling = sampling
        depths = KINDS[kind]
        self._holds = holds_of(depths)
        settings = {name: value for name, value in searcher.settings[kind].items() if name != "temperature"}
        self._plan = Plan(**settings, deepest=max(depths) if depths else None)
        self._reflecting = Reflecting(self._plan) if reflects else None
        self._listed: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {}

    def sampled(self) -> SearchAgent:
        """Return the same players, whose commands are drawn at temperature 1."""
        return SearchAgent(self._searcher, self._kind, self._policy, self._reflects, sampling=True)

    def act(self, views: Sequence[AgentInput]) -> list[Decision]:
        """Return a decision for each view."""
        return [self._decide(view) for view in views]

    def _decide(self, view: AgentInput) -> Decision:
        question = question_of(view)
        search = self._search(view, question)
        judged = self._searcher.judgement(question, self._kind, self._listed.get((question, ()), ()))
        belief = believe(search, judged, self._holds)
        commands = view.admissible_commands
        if self._policy is None:
            choice = choose(search, belief, self._plan)
            command = choice.command if choice.command in commands else commands[-1]
            return Decision(command, reflection(search, belief, choice))
        said = self._reflecting.say(search, belief) if self._reflecting else None
        inputs = self._reflecting or command_features
        logits = self._policy.logits(inputs(search, belief, commands))
        if self.sampling:
            logits = logits + view.rng.gumbel(size=len(logits))
        return Decision(commands[int(logits.argmax())], said)

    def _search(self, view: AgentInput, question: str) -> Search:
        """Return what the player knows: the path, and what was listed to this agent on its way."""
        done = tuple(step.action for step in view.path)
        if len(self._listed) > 200_000:
            self._listed.clear()
        if not done and self._listed.get((question, ()), view.admissible_commands) != view.admissible_commands:
            self._listed.clear()  # another repository is asked the same
        self._listed[question, done] = view.admissible_commands
        search = Search(question, steps_left(view, "search") + len(done))
        for count in range(len(done) + 1):
            if count:
                search.did(done[count - 1], view.path[count - 1].feedback)
            if (question, done[:count]) in self._listed:
                search.listed(self._listed[question, done[:count]])
        return search


def _load(argument: str, agent: str, reflects: bool = False, sampling: bool = False) -> SearchAgent:
    path, kind, number = Path(argument), "any", ""
    if not argument:
        raise UsageError(f"agent {agent} needs a run: write --agent {agent}:RUN/depth1")
    if agent != "search":
        path, number = path.parent, path.name
    if path.name in KINDS:
        path, kind = path.parent, path.name
    torch.set_num_threads(1)
    searcher = Searcher.load(path)
    policy = None
    if agent != "search":
        file = path / f"{'reflect' if reflects else 'policy'}-{kind}-{number}.pt"
        if not file.is_file():
            raise UsageError(f"{file} is missing: train it with `reflect-rl search practice --out {path}`")
        policy = read_policy(file, reflects)
    return SearchAgent(searcher, kind, policy, reflects, sampling)


def load(argument: str) -> SearchAgent:
    """Return the learned searcher of `search:RUN/depth1`."""
    return _load(argument, "search")


def load_policy(argument: str) -> SearchAgent:
    """Return the policy of `search-policy:RUN/depth1/0`; `0-sft` is the same before RL."""
    return _load(argument, "search-policy")


def load_policy_sampling(argument: str) -> SearchAgent:
    """Return the same policy, whose commands are drawn."""
    return _load(argument, "search-policy-sample", sampling=True)


def load_reflecting(argument: str) -> SearchAgent:
    """Return the players of `search-reflect:RUN/depth1/0`."""
    return _load(argument, "search-reflect", reflects=True)


def load_reflecting_sampling(argument: str) -> SearchAgent:
    """Return the same players, whose commands are drawn."""
    return _load(argument, "search-reflect-sample", reflects=True, sampling=True)
