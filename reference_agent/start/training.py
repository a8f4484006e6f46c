"""Training of a game's players: a minute's try of each model, then twice as much until validation is won."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from time import process_time

import torch
from torch import Tensor

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import Episode, Protocol, evaluate
from natlang_envs.files import cache_folder
from natlang_envs.make_env import make_env
from natlang_envs.prompt import History
from reference_agent.collection import collect
from reference_agent.data_set import Example
from reference_agent.models.language_model import LanguageModel
from reference_agent.run.config import ModelConfig, PolicySFTConfig, SFTConfig
from reference_agent.run.players import Players
from reference_agent.run.progress import ProgressLines
from reference_agent.sft import Learned, fine_tune_policy, fine_tune_reflector, learned
from reference_agent.start.game import GameFile, demonstrations
from reference_agent.teachers.base import named_commands
from reference_agent.tiny.own import CANNOT_READ, new_tiny, played, teach_to_read

MODELS = ("tiny", "smollm2")
GOAL = 0.95  # share of validation games
FIRST = 25  # trajectories
_TRY = 60.0  # seconds
_COPIES = 150
_ENOUGH = 0.9  # of new states, after which no larger model is tried
_BEHIND = 0.2  # of new states, which a larger model makes good
_ASKED = 36  # states by which a reflector is judged
_GAMES = 24  # of validation, at most
_FOLLOWS = 0.95  # as often as a policy has to choose as the teacher
_GAP = 0.1  # between states that it learned from and others


class BusyClock:
    """Counts the seconds that this process computes: what else the machine does costs a training no time."""

    def __init__(self) -> None:
        self._seconds, self._last = 0.0, process_time()

    def seconds(self) -> float:
        """Return the seconds so far, in which all threads computed together."""
        now = process_time()
        self._seconds, self._last = self._seconds + (now - self._last) / torch.get_num_threads(), now
        return self._seconds

    def use_threads(self, count: int) -> None:
        self.seconds()
        torch.set_num_threads(count)


@dataclass
class TriedPlayers:
    """Players on one model, what they learned, and how much of it."""

    name: str  # of the model
    players: Players  # the players
    reflector: SFTConfig  # updates of the reflector in the first round, twice as many in each later one
    policy: PolicySFTConfig  # updates of the policy in a round
    reads: bool  # whether the policy is still to learn to read labels, as a tiny model has to
    seconds: float = 0.0  # what an update of the reflector took in the try
    right: float = 0.0  # how often the reflector names the teacher's command in states of validation
    whole: bool = False  # whether the try had time for all updates of a first round


@dataclass(frozen=True)
class Result:
    """What was reached: validation games won, and how often each part was right."""

    won: float  # share of validation games
    right: float  # how often the reflector names the teacher's command in states of validation
    known: float  # the same in states that it learned from
    follows: Learned  # what the policy has learned
    trajectories: int  # of the teacher

    def __str__(self) -> str:
        states = f"{self.right:.0%} of new states and {self.known:.0%} of its own"
        said = f"the reflector names the teacher's command in {states}, {self.follows}"
        return f"{self.trajectories} trajectories: {said}; {self.won:.0%} of validation games won"


class Trainer:
    """Trains players for a game on the best of some models, within so many seconds; p(s) shows so much `history`."""

    def __init__(
        self, game: GameFile, history: History, models: Sequence[str], seconds: float, told: ProgressLines
    ) -> None:
        self._game, self._models, self._told = game, models, told
        self._history: History = history
        self.clock, self._threads, self._seconds = BusyClock(), torch.get_num_threads(), seconds
        self._unseen = self._collected(FIRST, "validation")
        env = make_env(game.id)
        episodes = tuple(Episode(task, 0) for task in game.tasks("validation")[:_GAMES])
        self._validation = Protocol(
            f"{game.name}/validation", game.id, {"split": "validation"}, env.horizon, 1, episodes, "Validation."
        )
        env.close()
        self.steps = 0  # of all reflectors together

    def train(self) -> tuple[TriedPlayers, Result]:
        """Return the best players that were met. Raises `UsageError` if no model learns to read the game."""
        first, waiting = self._collected(FIRST), list(self._models)
        tried = [self._tried(waiting.pop(0), first)]  # the smallest
        while waiting and tried[-1].right < _ENOUGH:
            tried.append(self._tried(waiting.pop(0), first))
        largest = tried[-1]  # goes first unless it is behind after a whole try: on a slow machine a minute is few steps
        tried.sort(key=lambda each: each is not largest and (not largest.whole or each.right < largest.right + _BEHIND))
        ended: list[tuple[TriedPlayers, Result]] = []
        while tried or waiting:
            players = tried.pop(0) if tried else self._tried(waiting.pop(0), first)
            self._told.line(f"{players.name} goes on")
            try:
                ended.append((players, self._rounds(players)))
            except UsageError as error:
                if str(error) != CANNOT_READ:
                    raise
                self._told.line(f"{players.name} does not learn to find the command that a reflection names")
            if ended and (ended[-1][1].won >= GOAL or self._seconds - self.clock.seconds() < 2 * _TRY):
                break
        if not ended:
            raise UsageError(CANNOT_READ)
        return max(ended, key=lambda each: each[1].won)

    def _collected(self, trajectories: int, split: str = "train") -> list[Example]:
        settings = demonstrations(self._game, trajectories, self._history, split)
        return collect(self._game.stage(split), self._game.teacher, settings, history=self._history)

    def _tried(self, name: str, examples: list[Example]) -> TriedPlayers:
        self.clock.use_threads(1 if name == "tiny" else self._threads)  # one is often the fastest for a tiny model
        began = self.clock.seconds()
        made = self._made(name)
        if made.reads:
            samples = played(self._game.id, self._game.teacher, self._history)
            model = new_tiny(samples)
            teach_to_read(model, samples, _COPIES, 0, 1, self._told.step)
            made.players = Players.of(model, history=self._history)
        began_steps, done = self.clock.seconds(), 0
        for _ in range(2):  # the first tells how many more there is time for
            left = _TRY - (self.clock.seconds() - began)
            steps = int(min(left / made.seconds, made.reflector.steps)) if made.seconds else 3
            if steps > 0:
                self._teach(made, examples, steps)
                done += steps
                made.seconds = (self.clock.seconds() - began_steps) / done
        _both(made.players)[1].model.eval()
        made.right, made.whole = self._agreement(made.players, self._unseen), done >= made.reflector.steps
        said = f"after {self.clock.seconds() - began:.0f} seconds its reflector names the teacher's command in"
        self._told.line(f"{name}: {said} {made.right:.0%} of new states")
        return made

    def _made(self, name: str) -> TriedPlayers:
        if name == "tiny":
            settings = SFTConfig(steps=200), PolicySFTConfig(steps=60)
            return TriedPlayers(name, Players.of(history=self._history), *settings, reads=True)
        config = ModelConfig(lora_rank=16, precision="auto")
        players = Players.of(name, config, head="saycan", history=self._history)
        rate = {"batch": 8, "learning_rate": 2e-3}
        return TriedPlayers(name, players, SFTConfig(steps=20, **rate), PolicySFTConfig(steps=10, batch=8), reads=False)

    def _teach(self, made: TriedPlayers, examples: list[Example], steps: int) -> None:
        self.steps += steps
        settings = replace(made.reflector, steps=steps)
        fine_tune_reflector(
            _both(made.players)[1],
            examples,
            settings,
            self.steps,
            lambda at, loss, _: self._told.step("reflector, loss", at, steps, loss),
        )

    def _rounds(self, made: TriedPlayers) -> Result:
        """Teach, and twice as much again, until validation is won, the time is over, or nothing rises any more."""
        self.clock.use_threads(1 if made.name == "tiny" else self._threads)
        best, kept = None, list[list[Tensor]]()
        trajectories, all_tasks = FIRST, len(self._game.tasks("train"))
        steps = max(1, min(made.reflector.steps, int(self._seconds / made.seconds / 3)))
        while True:
            began = self.clock.seconds()
            examples = self._collected(trajectories)
            self._teach(made, examples, steps)
            result = self._taught_policy(made, examples, min(trajectories, all_tasks))
            self._told.line(str(result))
            rises = best is None or (result.won, result.right) > (best.won, best.right)
            if rises:
                best, kept = result, _weights(made.players)
            left, took = self._seconds - self.clock.seconds(), self.clock.seconds() - began
            used_up = trajectories >= all_tasks and not rises
            if best and (result.won >= GOAL or used_up or left < took / 2):
                _restore(made.players, kept)
                return best
            trajectories, steps = 2 * trajectories, int(steps * min(2.0, left / took))

    def _taught_policy(self, made: TriedPlayers, examples: list[Example], trajectories: int) -> Result:
        players = made.players
        if made.reads:
            model = players.policy
            if not teach_to_read(model, examples, 0, None, 1, self._told.step):
                raise UsageError(CANNOT_READ)
            made.reads = False
        follows = learned(players.policy, examples)
        if follows.accuracy < _FOLLOWS:
            steps = made.policy.steps
            fine_tune_policy(
                players.policy,
                examples,
                made.policy,
                self.steps,
                lambda at, loss, _: self._told.step("policy, loss", at, steps, loss),
            )
            follows = learned(players.policy, examples)
        _both(players)[1].model.eval()
        _, recorded = evaluate(players.agent(), self._validation)
        won = sum(each.success for each in recorded) / len(recorded)
        right, known = (self._agreement(players, each) for each in (self._unseen, examples))
        return Result(won, right, known, follows, trajectories)

    def _agreement(self, players: Players, examples: list[Example]) -> float:
        """Return how often a reflection names the commands that the teacher's names, or is the teacher's."""
        asked = examples[:: max(1, len(examples) // _ASKED)][:_ASKED]
        assert players.reflector is not None
        said = players.reflector.reflect([each.state for each in asked])
        return sum(_agrees(each, text) for each, text in zip(asked, said, strict=True)) / len(asked)


def _agrees(example: Example, said: str) -> bool:
    named = named_commands(example.reflection, example.commands)
    return named_commands(said, example.commands) == named if named else said == example.reflection


def _both(players: Players) -> list[LanguageModel]:
    assert players.reflector is not None
    model = players.reflector.model
    assert isinstance(model, LanguageModel)
    return [players.policy, model]


def _weights(players: Players) -> list[list[Tensor]]:
    return [[weight.detach().clone() for weight in each.parameters()] for each in _both(players)]


@torch.no_grad()
def _restore(players: Players, kept: list[list[Tensor]]) -> None:
    for model, weights in zip(_both(players), kept, strict=True):
        for weight, before in zip(model.parameters(), weights, strict=True):
            weight.copy_(before)


def advice(result: Result, model: str, tasks: int) -> str:
    """Return which part does not learn, and what would help."""
    larger = "a larger model" if model != "tiny" else "a larger model (reflect-rl models fetch smollm2)"
    reads = result.follows.without is None or result.follows.accuracy - result.follows.without >= _GAP / 2
    if result.follows.accuracy < _FOLLOWS and not reads:
        word = "let the teacher name the command word for word"
        return f"the policy does not follow the reflection: {word}, or take {larger}"
    if result.follows.accuracy < _FOLLOWS:
        return f"the policy follows the reflection {result.follows.accuracy:.0%} of the time: {larger} would help"
    more = "more trajectories (--minutes)"
    if result.trajectories >= tasks:
        more = f"more tasks (all {tasks} of the split train are used)"
    if result.right < GOAL and result.known - result.right > _GAP:
        return f"the reflector knows its demonstrations and not new states: {more} would help, or {larger}"
    if result.right < GOAL:
        return f"the reflector does not learn the teacher's reasons: {larger} or {more} would help"
    return f"both players do as the teacher does, and lose where it never was: {more} would help"


def models_here() -> list[str]:
    return [each for each in MODELS if each == "tiny" or (cache_folder() / "models" / each).exists()]
