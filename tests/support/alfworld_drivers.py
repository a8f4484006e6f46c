"""Programs of other people's kinds that play ALFWorld, to run with alfworld's package and with ours.

Each is the way a well-known program takes episodes from the package: verl-agent a worker for each environment,
AgentBench and AgentGym a class of one game that leaves out the inherited constructor, ReAct one environment for all
games, TALES TextWorld's own function with alfworld's wrapper.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from natlang_envs.alfworld.engine.game import GameText, parse_game, read_game_file
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.plans import reference
from natlang_envs.alfworld.textworld.export import export_game

_MISTAKES = ("go to nowhere 1", "Look", "take apple 1 from fridge 1", "examine", "inventory ", "help", "")


class Package(NamedTuple):
    """Where a program imports from."""

    environment: Any  # has `get_environment`
    textworld: Any  # has `start` and `EnvInfos`
    demangler: Any
    filter: Any


class Moment(NamedTuple):
    """What a program sees of one environment at one step, as far as it looks."""

    observation: str
    reward: float
    done: bool
    admissible: tuple[str, ...]
    game: str


Driver = Callable[[Package, dict[str, Any], Sequence[str], int], Iterator[Moment]]


def ours() -> Package:
    """Return this package's."""
    compat, single = (import_module(f"natlang_envs.alfworld.compat{each}") for each in ("", ".single"))
    return Package(compat, single, single.AlfredDemangler, single.Filter)


def theirs() -> Package:
    """Return alfworld's and TextWorld's own."""
    environment, textworld = import_module("alfworld.agents.environment"), import_module("textworld")
    demangler = import_module("alfworld.agents.environment.alfred_tw_env").AlfredDemangler
    return Package(environment, textworld, demangler, import_module("textworld.envs.wrappers").Filter)


class _Player:
    """Plays one episode: by a plan, or at random, with mistakes in between."""

    def __init__(self, path: str, number: int) -> None:
        self._chance = random.Random(f"{number}/{Path(path).parent.name}")
        plan = reference(World(parse_game(read_game_file(path)))) if number % 2 else []
        self._plan = iter(plan)

    def choose(self, admissible: Sequence[str]) -> str:
        if self._chance.random() < 0.2:
            return self._chance.choice(_MISTAKES)
        return next(self._plan, None) or self._chance.choice(list(admissible))


def verl_agent(package: Package, config: dict[str, Any], games: Sequence[str], steps: int) -> Iterator[Moment]:
    """A manager with a worker for each environment, in groups of two that start alike."""
    base = package.environment.get_environment(config["env"]["type"])(config, train_eval="eval_out_of_distribution")
    base.game_files = list(games)
    workers = [base.init_env(batch_size=1) for _ in games]
    for number, worker in enumerate(workers):
        worker.seed(7 + number // 2)
    starts = [worker.reset() for worker in workers]
    paths = [infos["extra.gamefile"][0] for _, infos in starts]
    players = [_Player(path, number) for number, path in enumerate(paths)]
    seen = [(observations[0], 0.0, False, infos) for observations, infos in starts]
    for _ in range(steps):
        for (observation, reward, done, infos), path in zip(seen, paths, strict=True):
            yield Moment(observation, reward, done, tuple(infos["admissible_commands"][0]), path)
        seen = [
            (observations[0], 10.0 * float(infos["won"][0]), dones[0], infos)
            for observations, _, dones, infos in (
                worker.step([player.choose(before[3]["admissible_commands"][0])])
                for worker, player, before in zip(workers, players, seen, strict=True)
            )
        ]


def _one_game(package: Package, config: dict[str, Any], path: str) -> Any:
    """Return an environment of one game, of a class that leaves out the inherited constructor."""

    class OneGame(package.environment.get_environment("AlfredTWEnv")):
        def __init__(self) -> None:
            self.config = config
            self.train_eval = "eval_out_of_distribution"
            self.goal_desc_human_anns_prob = config["env"]["goal_desc_human_anns_prob"]
            self.get_game_logic()
            self.random_seed = 42
            self.game_files = [path]
            self.num_games = 1

    return OneGame().init_env(batch_size=1)


def agent_bench(package: Package, config: dict[str, Any], games: Sequence[str], steps: int) -> Iterator[Moment]:
    """A task after the other, each with an environment of its own."""
    for number, path in enumerate(games):
        env = _one_game(package, config, path)
        observations, infos = env.reset()
        yield from _to_the_end(env, observations[0], infos, _Player(path, number), path, steps)


def agent_gym(package: Package, config: dict[str, Any], games: Sequence[str], steps: int) -> Iterator[Moment]:
    """A service that keeps environments by number, and is asked for them in turns."""
    service = {number: _one_game(package, config, path) for number, path in enumerate(games)}
    playing = {
        number: _to_the_end(env, observations[0], infos, _Player(games[number], number), games[number], steps)
        for number, (env, (observations, infos)) in {each: (env, env.reset()) for each, env in service.items()}.items()
    }
    for _ in range(steps):
        for number in [*playing]:
            moment = next(playing[number], None)
            if moment is None:
                del playing[number]
            else:
                yield moment


def re_act(package: Package, config: dict[str, Any], games: Sequence[str], steps: int) -> Iterator[Moment]:
    """One environment that a loop over the games resets; the room is shown without the welcome."""
    env = package.environment.get_environment(config["env"]["type"])(config, train_eval="eval_out_of_distribution")
    env.game_files = list(games)
    env = env.init_env(batch_size=1)
    for number in range(len(games)):
        observations, infos = env.reset()
        path = infos["extra.gamefile"][0]
        room = "\n".join(observations[0].split("\n\n")[1:])
        for moment in _to_the_end(env, room, infos, _Player(path, number), path, steps):
            shown = moment.observation
            yield moment._replace(
                observation=shown[shown.find(". ") + 2 :] if shown.startswith("You arrive") else shown
            )


def tales(package: Package, config: dict[str, Any], games: Sequence[str], steps: int) -> Iterator[Moment]:
    """A Gymnasium environment around `textworld.start`, which takes the score of a step for its end."""
    del config
    infos = package.textworld.EnvInfos(
        score=True,
        max_score=True,
        won=True,
        lost=True,
        feedback=True,
        moves=True,
        admissible_commands=True,
        extras=["walkthrough", "expert_plan"],
    )
    for number, path in enumerate(games):
        env = package.textworld.start(path, infos, wrappers=[package.filter, package.demangler()])
        observation, info = env.reset()
        player, score, done = _Player(path, number), 0, False
        for _ in range(steps):
            rest = {key: value for key, value in info.items() if key != "admissible_commands"}
            told = f"{observation}\n{sorted(rest.items(), key=lambda each: each[0])}"
            yield Moment(told, score, done, tuple(info["admissible_commands"]), path)
            if done:
                break
            observation, score, done, info = env.step(player.choose(info["admissible_commands"]))
        env.close()


def _to_the_end(env: Any, shown: str, infos: Any, player: _Player, path: str, steps: int) -> Iterator[Moment]:
    reward, done = 0.0, False
    for _ in range(steps):
        yield Moment(shown, reward, done, tuple(infos["admissible_commands"][0]), path)
        if done:
            break
        observations, scores, dones, infos = env.step([player.choose(infos["admissible_commands"][0])])
        shown, reward, done = observations[0], float(scores[0]) + float(infos["won"][0]), dones[0]


def config_of(games: Path, steps: int) -> dict[str, Any]:
    """Return a config for both packages; the rules and texts beside the games are those that alfworld ships."""
    spec = find_spec("alfworld")
    data = Path(spec.origin).parent / "data" if spec and spec.origin else games
    return {
        "dataset": {"eval_ood_data_path": str(games), "num_eval_games": -1},
        "logic": {"domain": str(data / "alfred.pddl"), "grammar": str(data / "alfred.twl2")},
        "env": {
            "type": "AlfredTWEnv",
            "domain_randomization": False,
            "task_types": [1, 2, 3, 4, 5, 6],
            "expert_type": "handcoded",
            "goal_desc_human_anns_prob": 0.0,
        },
        "general": {"training_method": "dqn"},
        "rl": {"training": {"max_nb_steps_per_episode": steps}},
    }


def write_games(folder: Path, texts: Mapping[str, GameText]) -> list[str]:
    """Write games by the ends of their ids, as `alfworld-download` leaves them; return the paths, sorted.

    Like the official ones they hold a walkthrough: without it TextWorld's planner looks for one, which takes minutes.
    """
    paths = [export_game(text, folder.joinpath(*name.split("/")[-2:])) for name, text in texts.items()]
    for path in paths:
        content = json.loads(path.read_text(encoding="utf-8"))
        content.setdefault("walkthrough", reference(World(parse_game(read_game_file(str(path))))))
        path.write_text(json.dumps(content), encoding="utf-8")
    return sorted(map(str, paths))


DRIVERS: dict[str, Driver] = {
    "verl-agent": verl_agent,
    "AgentBench": agent_bench,
    "AgentGym": agent_gym,
    "ReAct": re_act,
    "TALES": tales,
}
