"""Programs of other people's kinds that play ALFWorld, each on the adapter with one import changed."""

from __future__ import annotations

import json
import warnings
from collections import Counter
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from natlang_envs.alfworld import compat
from natlang_envs.alfworld.compat import AlfredTWEnv, get_environment
from natlang_envs.alfworld.engine.game import parse_game, read_game_file
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.expert import Expert
from natlang_envs.alfworld.plans import reference
from tests.support.alfworld_samples import official_folder
from tests.support.compat_games import as_downloaded, base_config

pytestmark = pytest.mark.filterwarnings("ignore:.*official games", "ignore:these keys")
OFFICIAL = 134


class Games(NamedTuple):
    """Games as `alfworld-download` leaves them, where `$ALFWORLD_DATA` says.

    Attributes:
        official: Whether they are the official ones; else they are generated.
        unseen: Those of `valid_unseen`.
    """

    official: bool
    unseen: list[str]


@pytest.fixture(scope="module", params=["official", "generated"])
def games(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Any:
    official = request.param == "official"
    if official and official_folder() is None:
        pytest.skip("the official games are not here: set $ALFWORLD_DATA")
    folder = tmp_path_factory.mktemp("data")
    unseen = as_downloaded(folder, official)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ALFWORLD_DATA", str(folder))
        yield Games(official, unseen)


def plan_of(path: str, grammar: str = "json_2.1.2") -> list[str]:
    """A plan that wins a game, in the words of a grammar."""
    return reference(World(parse_game(read_game_file(path)._replace(grammar=grammar))))


# verl-agent: a manager with a worker, in a process of its own, for each environment.


class Worker:
    """One environment."""

    def __init__(self, base: AlfredTWEnv, seed: int) -> None:
        self.env = base.init_env(batch_size=1)
        self.env.seed(seed)

    def reset(self) -> Any:
        observations, infos = self.env.reset()
        infos["observation_text"] = list(observations)
        return observations, infos

    def step(self, command: str) -> Any:
        observations, scores, dones, infos = self.env.step([command])
        infos["observation_text"] = list(observations)
        return observations, scores, dones, infos


class Manager:
    """Groups of environments; `make` makes a worker, and `call` calls a method of each and waits."""

    def __init__(self, settings: dict[str, Any], seed: int, count: int, group: int, make: Any, call: Any) -> None:
        base = get_environment(settings["env"]["type"])(settings, train_eval="train")
        self.workers = [make(base, seed + number // group) for number in range(count)]
        self.call = call

    def reset(self) -> tuple[list[str], list[dict[str, Any]]]:
        results = self.call([(worker, "reset", ()) for worker in self.workers])
        return [observations[0] for observations, _ in results], [self.first(infos) for _, infos in results]

    def step(self, commands: list[str]) -> tuple[list[str], list[float], list[bool], list[dict[str, Any]]]:
        calls = [(worker, "step", (command,)) for worker, command in zip(self.workers, commands, strict=True)]
        results = self.call(calls)
        infos = [self.first(result[3]) for result in results]
        rewards = [10.0 * float(info["won"]) for info in infos]
        return [result[0][0] for result in results], rewards, [result[2][0] for result in results], infos

    @staticmethod
    def first(infos: dict[str, Any]) -> dict[str, Any]:
        for key in infos:
            infos[key] = infos[key][0]
        return infos


def in_process(calls: list[Any]) -> list[Any]:
    return [getattr(worker, name)(*args) for worker, name, args in calls]


def rollout(make: Any, call: Any, experts: bool) -> None:
    settings = base_config()
    settings["env"]["use_expert"] = False  # of a fork
    manager = Manager(settings, 5, 6, 2, make, call)
    texts, infos = manager.reset()
    assert texts[0] == texts[1]
    assert texts[2] == texts[3]
    assert len(set(texts)) > 1
    plans = [[] if experts else plan_of(info["extra.gamefile"])[::-1] for info in infos]
    total = [0.0] * len(texts)
    for _ in range(50):
        commands = [
            info["extra.expert_plan"][0] if experts else (plan or ["look"]).pop()
            for info, plan in zip(infos, plans, strict=True)
        ]
        texts, rewards, dones, infos = manager.step(commands)
        assert [info["observation_text"] for info in infos] == texts
        total = [max(pair) for pair in zip(total, rewards, strict=True)]
        if all(dones):
            break
    assert total == [10.0] * len(texts)


@pytest.mark.parametrize("experts", [True, False])
def test_a_manager_with_a_worker_for_each_environment(
    games: Games, experts: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not experts:  # the config asks for plans, which nobody reads
        monkeypatch.delattr(Expert, "choose")
    rollout(Worker, in_process, experts)


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")
@pytest.mark.parametrize("games", ["generated"], indirect=True)
@pytest.mark.usefixtures("games")
def test_a_manager_with_a_ray_actor_for_each_environment() -> None:
    import ray

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        actor = ray.remote(num_cpus=0.1)(Worker)
        rollout(
            actor.remote,
            lambda calls: ray.get([getattr(each, name).remote(*args) for each, name, args in calls]),
            experts=True,
        )
    finally:
        ray.shutdown()


# AgentBench and AgentGym: a class of one game, which does not call the constructor that it inherits.


class OneGame(AlfredTWEnv):
    """As in AgentBench: the game is named at construction."""

    def __init__(self, config: Any, name: str, train_eval: str = "eval_out_of_distribution") -> None:
        self.config = config
        self.train_eval = train_eval
        self.goal_desc_human_anns_prob = self.config["env"]["goal_desc_human_anns_prob"]
        self.get_game_logic()
        self.random_seed = 42
        self.game_files = [name]
        self.num_games = 1


class LaterGame(AlfredTWEnv):
    """As in AgentGym: the game is named before each start."""

    def __init__(self, config: Any, train_eval: str = "eval_out_of_distribution") -> None:
        self.config = config
        self.train_eval = train_eval
        self.goal_desc_human_anns_prob = self.config["env"]["goal_desc_human_anns_prob"]
        self.get_game_logic()
        self.random_seed = 42
        self.game_files = []
        self.num_games = 0


class OwnCollection(AlfredTWEnv):
    """Chooses its games in a method of its own, for a split of a name of its own."""

    def __init__(self, config: Any, names: list[str]) -> None:
        self.config = config
        self.train_eval = "eval"
        self.names = names
        self.collect_game_files()

    def collect_game_files(self, verbose: bool = False) -> None:
        self.game_files = self.names
        self.num_games = len(self.names)


class Service:
    """Environments by number, which answer with what JSON can hold."""

    def __init__(self, config: Any, games: list[str]) -> None:
        self.config, self.games = config, games
        self.made: dict[int, LaterGame] = {}
        self.playing: dict[int, Any] = {}

    def create(self) -> int:
        number = len(self.made)
        self.made[number] = LaterGame(self.config)
        return number

    def reset(self, number: int, game: int) -> dict[str, Any]:
        env = self.made[number]
        env.game_files = [self.games[game]]
        env.num_games = 1
        self.playing[number] = env.init_env(batch_size=1)
        observations, infos = self.playing[number].reset()
        return {
            "observation": "\n".join(observations[0].split("\n\n")[1:]),
            "available_actions": infos["admissible_commands"][0],
            "task_type": "/".join(infos["extra.gamefile"][0].split("/")[-3:-1]),
        }

    def step(self, number: int, action: str) -> dict[str, Any]:
        observations, _, dones, infos = self.playing[number].step([action])
        return {"observation": observations[0], "reward": float(infos["won"][0]), "done": dones[0]}


def test_a_class_of_one_game_that_does_not_call_the_inherited_constructor(games: Games) -> None:
    settings = base_config()
    won = 0
    for name in AlfredTWEnv(settings, train_eval="eval_out_of_distribution").game_files:
        env = OneGame(settings, name).init_env(batch_size=1)
        observations, infos = env.reset()
        assert infos["extra.gamefile"] == [name]
        assert "Your task is to: " in observations[0]
        reward = False
        for command in plan_of(name):
            assert command in infos.get("admissible_commands", [[]])[0]
            observations, _, dones, infos = env.step([command])
            reward = infos["won"][0]
            if dones[0]:
                break
        won += reward
    assert won == len(games.unseen) == (OFFICIAL if games.official else 12)


def test_a_service_of_environments_whose_games_are_named_before_each_start(games: Games) -> None:
    service = Service(base_config(), games.unseen)
    numbers = [service.create() for _ in range(3)]
    for game in range(0, len(games.unseen), 3):
        for number in numbers:
            started = json.loads(json.dumps(service.reset(number, game)))
            assert started["task_type"] == "/".join(Path(games.unseen[game]).parts[-3:-1])
            assert started["observation"].startswith("You are in the middle of a room.")
            for command in plan_of(games.unseen[game]):
                answer = json.loads(json.dumps(service.step(number, command)))
            assert (answer["reward"], answer["done"]) == (1.0, True)


def test_a_class_that_collects_its_games_itself(games: Games) -> None:
    batch = OwnCollection(base_config(), games.unseen[:2]).init_env(batch_size=2)
    _, infos = batch.reset()
    assert sorted(infos["extra.gamefile"]) == games.unseen[:2]
    assert set(infos) == {"won", "admissible_commands", "extra.gamefile"}


# ReAct: a loop over the games of a split, and a table of the types.


def react(settings: dict[str, Any]) -> tuple[list[int], list[int]]:
    """Play every game as the notebook does; its model is an oracle that writes the words of the paper's prompts.

    Returns:
        For each prefix, how many games were won, and how many there were.
    """
    prefixes = ("pick_and_place", "pick_clean_then_place", "pick_heat_then_place", "pick_cool_then_place")
    prefixes += ("look_at_obj", "pick_two_obj")
    wins, counts = [0] * len(prefixes), [0] * len(prefixes)
    env: Any = getattr(compat, settings["env"]["type"])(settings, train_eval="eval_out_of_distribution")
    number = env.num_games
    env = env.init_env(batch_size=1)
    for _ in range(number):
        observations, infos = env.reset()
        assert "\n".join(observations[0].split("\n\n")[1:]).startswith("You are in the middle of a room.")
        name = "/".join(infos["extra.gamefile"][0].split("/")[-3:-1])
        model = iter(plan_of(infos["extra.gamefile"][0], "json_2.1.1"))
        reward = False
        for _ in range(1, 50):
            action = next(model, "look")
            observations, _, dones, infos = env.step([action])
            text, reward, over = observations[0], infos["won"][0], dones[0]
            if text.startswith("You arrive at loc "):
                text = text[text.find(". ") + 2 :]
            assert not text.startswith("You arrive at loc ")
            if over:
                break
        kind = next(each for each, prefix in enumerate(prefixes) if name.startswith(prefix))
        wins[kind] += reward
        counts[kind] += 1
    return wins, counts


def test_a_notebook_s_loop_in_the_words_of_the_paper_wins_every_game_once_the_grammar_is_named(games: Games) -> None:
    settings = base_config()
    wins, counts = react(settings)
    if games.official:
        assert counts == [24, 31, 23, 21, 18, 17]
        assert wins == [0, 1, 1, 2, 18, 0]  # where nothing has to be put down, but for four
    else:
        assert counts == [2] * 6
        assert wins[4] == 2
        assert sum(wins) < 6
    settings["env"]["grammar"] = "json_2.1.1"
    assert react(settings) == (counts, counts)


# Evaluation of every game once.


def test_one_batch_of_all_games_or_skips_in_one_order_play_each_game_once(games: Games) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        env = AlfredTWEnv(base_config(), train_eval="eval_out_of_distribution")
    if games.official:
        assert caught == []  # all of them, and no others
    _, infos = env.init_env(env.num_games).reset()
    assert sorted(infos["extra.gamefile"]) == games.unseen
    played: Counter[str] = Counter()
    for rank in range(env.num_games):
        batch = env.init_env(1)
        batch.seed(7)
        batch.skip(rank)
        played[batch.reset()[1]["extra.gamefile"][0]] += 1
    assert played == dict.fromkeys(games.unseen, 1)
