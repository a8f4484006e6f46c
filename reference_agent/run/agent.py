"""The trained players as an agent for `natlang evaluate --agent reflect-rl:RUN`.

`RUN` is a folder of `reflect-rl train`; `RUN/policy-sft` is the policy before RL. `reflect-rl:RUN` decodes greedily,
`reflect-rl-sample:RUN` samples at temperature 1 with each episode's own generator, so both repeat exactly. What
`reflect-rl publish` wrote plays as `reflect-rl:NAME.json`.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from pathlib import Path
from tempfile import TemporaryDirectory

import torch

from natlang_envs.errors import UsageError, check_flag
from natlang_envs.evaluation.agents import AgentInput, Decision
from natlang_envs.evaluation.published import is_published
from natlang_envs.prompt import History
from reference_agent.models.backbone import memory_advice
from reference_agent.models.language_model import LanguageModel
from reference_agent.players import Answers, Reflector, choice_chances, decide, fitting_state
from reference_agent.players import Decision as Choice
from reference_agent.run.published import unpack
from reference_agent.run.stages import CONFIG, load_players

_REMEMBERED = 10_000  # answers of the policy


class PlayersAgent:
    """Two players, or a policy alone, as in training; greedy, or `sampling` at temperature 1."""

    def __init__(
        self, policy: LanguageModel, reflector: Reflector | None, history: History, sampling: bool = False
    ) -> None:
        check_flag("sampling", sampling)
        self._policy, self._reflector, self.sampling = policy, reflector, sampling
        self._history: History = history
        self._policy.model.eval()
        self._known: Answers = {}  # shared with `sampled()`, since both meet the same p(s)
        self._changes = policy.changes()

    def sampled(self) -> PlayersAgent:
        """Return the same players, loaded once, with sampled commands."""
        other = copy(self)
        other.sampling = True
        return other

    def act(self, views: Sequence[AgentInput]) -> list[Decision]:
        """Return a decision for each view."""
        commands, states = [view.admissible_commands for view in views], [self._state(view) for view in views]
        own = [view.rng for view in views] if self.sampling else None
        self._forget()
        with memory_advice("while playing", "lower --batch"):
            decided = decide(self._policy, self._reflector, states, commands, None, own=own, known=self._known)
        return [
            Decision(each.command(listed), each.reflection, self._tokens(each))
            for listed, each in zip(commands, decided, strict=True)
        ]

    def chances(self, view: AgentInput, reflection: str | None) -> list[float]:
        """Return the policy's probability of each listed command at temperature 1, given a reflection."""
        self._forget()
        return choice_chances(self._policy, self._state(view), view.admissible_commands, reflection, self._known)

    def _forget(self) -> None:
        """Forget the policy's answers where it has learned since, or where they are too many."""
        if self._changes != (changes := self._policy.changes()) or len(self._known) > _REMEMBERED:
            self._known.clear()
            self._changes = changes

    def _state(self, view: AgentInput) -> str:
        """Return p(s), as in training."""
        seen = (view.task, view.path, view.observation, view.admissible_commands)
        return fitting_state(self._policy, self._reflector, *seen, self._history)

    def _tokens(self, choice: Choice) -> int:
        """Count what both players read and wrote, as if nothing were remembered; a prompt of many actions once."""
        count = self._policy.count
        spoken = 0 if choice.reflection is None else count(choice.state) + count(choice.reflection)
        return self._policy.count_prompt(choice.prompt) + self._policy.answer_tokens(choice.labels) + spoken


class ReflectRLAgent(PlayersAgent):
    """Two trained players of a run; `policy` is `"policy"` or `"policy-sft"`."""

    def __init__(self, run: Path, policy: str = "policy", sampling: bool = False) -> None:
        player, reflector, config = load_players(run, policy)
        torch.set_num_threads(config.threads)
        super().__init__(player, reflector, config.history, sampling)


def load(argument: str, sampling: bool = False) -> ReflectRLAgent:
    """Return the agent of `reflect-rl:RUN`, `reflect-rl:RUN/policy-sft` or `reflect-rl:PLAYER.json`."""
    path = Path(argument)
    if not argument:
        name = "players-sample" if sampling else "players"
        raise UsageError(f"the players need a folder: write --agent {name}:FOLDER, of reflect-rl train or Players.save")
    if is_published(path):
        with TemporaryDirectory() as folder:
            return ReflectRLAgent(Path(folder), unpack(path, Path(folder)), sampling)
    if path.name in ("policy", "policy-sft") and not (path / CONFIG).exists():
        return ReflectRLAgent(path.parent, path.name, sampling)
    return ReflectRLAgent(path, sampling=sampling)


def load_sampling(argument: str) -> ReflectRLAgent:
    """Return the agent of `reflect-rl-sample:RUN`: the same players with sampled commands."""
    return load(argument, sampling=True)
