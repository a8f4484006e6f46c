"""Scripts for the alfworld package, on our own class of the same name."""

from __future__ import annotations

import copy
import json
import pickle
import subprocess
import sys
from collections import Counter
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from natlang_envs.alfworld.compat import AlfredTWEnv, get_environment
from natlang_envs.alfworld.engine.game import parse_game, read_game_file
from natlang_envs.alfworld.engine.goals import TASK_TYPES
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.exemplars import exemplar
from natlang_envs.alfworld.plans import reference
from natlang_envs.alfworld.textworld.backend import borrowed
from natlang_envs.alfworld.textworld.export import export_game, folder_of, game_of
from natlang_envs.errors import UsageError
from tests.natlang_envs.alfworld.real import needs_textworld
from tests.natlang_envs.alfworld.test_folder import HUMAN, IDS, put
from tools.alfworld.textworld_speed import faster

# What the package reads of its base_config.yaml, and some of what only its trainers do.
CONFIG: dict[str, Any] = {
    "dataset": {
        "data_path": "$GAMES/train",
        "eval_id_data_path": "$GAMES/valid_seen",
        "eval_ood_data_path": None,
        "num_train_games": -1,
        "num_eval_games": 2,
    },
    "logic": {"domain": "$ALFWORLD_DATA/logic/alfred.pddl", "grammar": "$ALFWORLD_DATA/logic/alfred.twl2"},
    "env": {
        "type": "AlfredTWEnv",
        "domain_randomization": False,
        "task_types": [1, 2, 3, 4, 5, 6],
        "expert_timeout_steps": 150,
        "expert_type": "handcoded",
        "goal_desc_human_anns_prob": 0.0,
        "hybrid": {"start_eps": 100000},
        "thor": {"screen_width": 300},
    },
    "controller": {"type": "oracle"},
    "general": {"random_seed": 42, "training_method": "dagger"},
    "rl": {"training": {"max_nb_steps_per_episode": 7}},
    "dagger": {"training": {"max_nb_steps_per_episode": 50}},
}

# A script of the kind that the ReAct paper published, but for its import.
SCRIPT = """
import json, sys
from {package} import get_environment
config = json.loads(sys.argv[1])
env = get_environment(config["env"]["type"])(config, train_eval="eval_in_distribution")
env = env.init_env(batch_size=1)
for _ in range(2):
    ob, info = env.reset()
    text = chr(10).join(ob[0].split(chr(10) * 2)[1:])
    name = "/".join(info["extra.gamefile"][0].split("/")[-3:-1])
    for _ in range(50):
        action = [command for command in info["admissible_commands"][0] if command != "look"][-1]
        observation, reward, done, info = env.step([action])
        won, over = info["won"][0], done[0]
        if over:
            break
    print(json.dumps([name, text, observation[0], won, over]))
"""


@pytest.fixture(scope="module", autouse=True)
def _games(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("games")
    for number, task_id in enumerate(IDS):
        split = "valid_seen" if number % 2 else "train"
        put(folder / split / f"{task_id.split('/')[2]}-Some-None-Thing-1" / f"trial_{number}", task_id, HUMAN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GAMES", str(folder))
        yield


def config(**values: Any) -> dict[str, Any]:
    """The config with other values, each named `section__key`."""
    changed = copy.deepcopy(CONFIG)
    for name, value in values.items():
        section, key = name.split("__")
        changed[section][key] = value
    return changed


def refused(train_eval: str = "train", **values: Any) -> str:
    with pytest.raises(UsageError) as caught:
        AlfredTWEnv(config(**values), train_eval)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_batch_plays_as_a_batch_of_textworld_does() -> None:
    batch = AlfredTWEnv(config(general__training_method="dqn")).init_env(batch_size=3)
    observations, infos = batch.reset()
    assert set(infos) == {"won", "admissible_commands", "extra.gamefile"}
    assert all("Your task is to: " in observation for observation in observations)
    plans = [reference(World(parse_game(read_game_file(path)))) for path in infos["extra.gamefile"]]
    assert min(map(len, plans)) < 7 < max(map(len, plans))
    ended: dict[int, str] = {}
    for step in range(9):
        commands = [plan[step] if step < len(plan) else "look" for plan in plans]
        observations, scores, dones, infos = batch.step(commands)
        for number, plan in enumerate(plans):
            # Over once it is won or has had its seven steps; nothing changes from then on.
            assert dones[number] is (step + 1 >= min(len(plan), 7))
            assert infos["won"][number] is bool(scores[number]) is (len(plan) <= 7 and step + 1 >= len(plan))
            if dones[number]:
                assert ended.setdefault(number, observations[number]) == observations[number]
    assert len(ended) == 3
    batch.close()
    with pytest.raises(UsageError, match="call reset first"):
        batch.step(["look"] * 3)


def test_games_come_in_the_order_of_the_seed_each_once_a_round() -> None:
    env = pickle.loads(pickle.dumps(AlfredTWEnv(CONFIG)))
    played = env.init_env(1)
    played.seed(3)
    files = [played.reset()[1]["extra.gamefile"][0] for _ in range(2 * env.num_games)]
    assert Counter(files) == dict.fromkeys(env.game_files, 2)
    assert sorted(files[: env.num_games]) == env.game_files
    again = env.init_env(2)
    again.seed(3)
    again.skip(2)
    assert again.reset()[1]["extra.gamefile"] == files[2:4]


def test_a_group_starts_in_one_game_whose_numbers_change_with_domain_randomization() -> None:
    def first(value: bool, group: int, seed: int = 1) -> tuple[str, ...]:
        batch = AlfredTWEnv(config(env__domain_randomization=value)).init_env(8, group_size=group)
        batch.seed(seed)
        return batch.reset()[0]

    plain, mixed = first(False, 4), first(True, 4)
    assert len(set(plain)) == len(set(mixed)) == 2
    assert plain[0] != mixed[0]
    assert sorted(plain[0].split()) != plain[0].split()
    assert Counter(plain[0].replace(",", " ").replace(".", " ").split()) == Counter(
        mixed[0].replace(",", " ").replace(".", " ").split()
    )
    assert mixed == first(True, 4)
    env = AlfredTWEnv(config(env__domain_randomization=True), "eval_in_distribution").init_env(4, group_size=2)
    plain_env = AlfredTWEnv(CONFIG, "eval_in_distribution").init_env(4, group_size=2)
    assert env.reset() == plain_env.reset()
    with pytest.raises(UsageError, match="a batch of 4 has no groups of 3"):
        AlfredTWEnv(CONFIG).init_env(4, group_size=3)


@pytest.mark.parametrize("expert", ["handcoded", "planner"])
def test_the_expert_s_plan_wins_in_training_only(expert: str) -> None:
    env = AlfredTWEnv(config(env__expert_type=expert))
    batch = env.init_env(env.num_games)
    _, infos = batch.reset()
    for _ in range(50):
        plans = infos["extra.expert_plan"]
        _, scores, dones, infos = batch.step([plan[0] if plan else "look" for plan in plans])
        if all(dones):
            break
    assert all(scores)
    assert (
        "extra.expert_plan"
        not in AlfredTWEnv(config(env__expert_type=expert), "eval_in_distribution").init_env(1).reset()[1]
    )


def test_a_config_says_which_games_are_played() -> None:
    assert AlfredTWEnv(CONFIG, "eval_in_distribution").num_games == 2
    assert AlfredTWEnv(config(dataset__num_train_games=1)).num_games == 1
    everything = AlfredTWEnv(CONFIG).game_files
    everything = AlfredTWEnv(CONFIG).game_files
    kinds = (TASK_TYPES[0], IDS[0].split("/")[2])
    few = AlfredTWEnv(config(env__task_types=[TASK_TYPES.index(kind) + 1 for kind in kinds]))
    assert few.game_files == [path for path in everything if Path(path).parts[-3].startswith(kinds)]
    assert 0 < few.num_games < len(everything)
    few.game_files = few.game_files[:1]
    assert set(few.init_env(3).reset()[1]["extra.gamefile"]) == set(few.game_files)
    with pytest.warns(UserWarning, match="goal_desc_human_anns_prob is ignored"):
        AlfredTWEnv(config(env__goal_desc_human_anns_prob=0.5))


def test_bad_configs_are_refused_in_a_line(tmp_path: Path) -> None:
    assert "unknown train_eval 'test'" in refused("test")
    assert "unknown key of the config's section env 'task_type': choose one of task_types" in refused(
        env__task_type=[1]
    )
    assert "unknown key env.thor.size; it would concern images" in refused(env__thor={"size": 300})
    assert "dataset.eval_ood_data_path is None" in refused("eval_out_of_distribution")
    assert "unknown task type 7" in refused(env__task_types=[1, 7])
    assert "unknown general.training_method 'grpo': choose one of" in refused(general__training_method="grpo")
    assert "dagger.training.max_nb_steps_per_episode is 0" in refused(dagger__training={"max_nb_steps_per_episode": 0})
    assert "no dagger.training.max_nb_steps_per_episode" in refused(dagger__training={})
    assert "unknown env.expert_type 'oracle'" in refused(env__expert_type="oracle")
    assert "is no folder" in refused(dataset__data_path=str(tmp_path / "missing"))
    assert "holds no game to play" in refused(dataset__data_path=str(tmp_path))
    put(tmp_path / "a" / "b", IDS[0], pddl_domain="(define (domain other))")
    assert "its domain is not ALFWorld's" in refused(dataset__data_path=str(tmp_path))
    with pytest.raises(UsageError, match="'AlfredThorEnv' shows images, and here there are texts alone"):
        get_environment("AlfredThorEnv")
    batch = AlfredTWEnv(CONFIG).init_env(2)
    batch.reset()
    with pytest.raises(UsageError, match="a list of 2 commands"):
        batch.step(["look"])


class Worker:
    """One environment of its own, as trainers with an actor for each have."""

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


def rollout(make: Any, call: Any) -> None:
    """Play groups of two from the same starts, as verl-agent's driver does: every info is the first of its list."""
    base = get_environment("AlfredTWEnv")(CONFIG, train_eval="train")
    workers = [make(base, 5 + number // 2) for number in range(4)]
    starts = call([(worker, "reset", ()) for worker in workers])
    texts = [observations[0] for observations, _ in starts]
    assert texts[0] == texts[1] != texts[2] == texts[3]
    infos = [{key: values[0] for key, values in info.items()} for _, info in starts]
    won = [False] * len(workers)
    for _ in range(50):
        commands = [info["extra.expert_plan"][0] for info in infos]
        results = call([(worker, "step", (command,)) for worker, command in zip(workers, commands, strict=True)])
        infos = [{key: values[0] for key, values in result[3].items()} for result in results]
        assert all(info["observation_text"] == result[0][0] for info, result in zip(infos, results, strict=True))
        won = [info["won"] for info in infos]
        if all(result[2][0] for result in results):
            break
    assert all(won)


def test_a_driver_with_a_worker_for_each_environment() -> None:
    rollout(Worker, lambda calls: [getattr(worker, name)(*args) for worker, name, args in calls])


@pytest.mark.slow
@pytest.mark.skipif(find_spec("ray") is None, reason="ray is not installed")
def test_a_driver_with_a_ray_actor_for_each_environment() -> None:
    import ray

    ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    try:
        actor = ray.remote(num_cpus=0.1)(Worker)
        rollout(actor.remote, lambda calls: ray.get([getattr(each, name).remote(*args) for each, name, args in calls]))
    finally:
        ray.shutdown()


@needs_textworld
@pytest.mark.parametrize("seed", [1, 2])
def test_the_package_s_class_says_the_same(seed: int, tmp_path: Path) -> None:
    with borrowed(), faster():
        real_class: Any = import_module("alfworld.agents.environment").get_environment("AlfredTWEnv")

        tasks = ("generated/seen/pick_clean_then_place_in_recep/401/007", "mixed/pick_two_obj_and_place/220/951")
        for task_id in tasks:
            export_game(game_of(task_id, "0.4.2"), tmp_path / folder_of(task_id))
        settings = config(dataset__data_path=str(tmp_path), general__training_method="dqn")
        theirs, ours = real_class(settings, "train"), AlfredTWEnv(settings, "train")
        assert sorted(theirs.game_files) == ours.game_files
        theirs.game_files = ours.game_files
        real, own = theirs.init_env(1), ours.init_env(1)
        real.seed(seed)
        own.seed(seed)
        real_start, start = real.reset(), own.reset()
        assert start == real_start
        plan = reference(World(parse_game(read_game_file(start[1]["extra.gamefile"][0]))))
        for number, command in enumerate(["nonsense", "inventory ", *plan, *["look"] * 8][:9]):
            theirs_now, now = real.step([command]), own.step([command])
            theirs_now[3]["extra.gamefile"] = now[3]["extra.gamefile"]  # None after the start, in the package
            assert now == theirs_now, (number, command)


@pytest.mark.slow
@needs_textworld
def test_a_script_runs_unchanged_but_for_its_import(tmp_path: Path) -> None:
    put(tmp_path / f"{IDS[0].split('/')[2]}-Some-None-Thing-1" / "trial_1", IDS[0])
    settings = config(dataset__eval_id_data_path=str(tmp_path), dagger__training={"max_nb_steps_per_episode": 5})

    def run(package: str) -> list[Any]:
        command = [sys.executable, "-c", SCRIPT.format(package=package), json.dumps(settings)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
        return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("[")]

    lines = run("natlang_envs.alfworld.compat")
    assert len(lines) == 2
    assert lines[0][3:] == [False, True]
    assert lines == run("alfworld.agents.environment")


@pytest.mark.parametrize("task_id", IDS)
def test_an_exemplar_is_a_game_that_is_won(task_id: str) -> None:
    game = parse_game(game_of(task_id))
    lines = exemplar(game).splitlines()
    room, task, *rest = lines
    assert room.startswith("You are in the middle of a room.")
    assert task == game.task
    world = World(game)
    for line, answer in zip(rest[::2], rest[1::2], strict=True):
        command = line.removeprefix("> ")
        assert answer == ("OK." if command.startswith("think: ") else world.step(command))
    assert world.won
    assert rest[0].startswith("> think: First I find a ")
    assert exemplar(game, thoughts=False).splitlines() == [
        *lines[:2],
        *(line for pair in zip(rest[::2], rest[1::2], strict=True) if pair[1] != "OK." for line in pair),
    ]
