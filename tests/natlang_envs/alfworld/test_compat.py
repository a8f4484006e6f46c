"""Scripts for the alfworld package, on our own class of the same name."""

from __future__ import annotations

import copy
import json
import pickle
import random
import subprocess
import sys
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from natlang_envs.alfworld.compat import AlfredTWEnv
from natlang_envs.alfworld.engine.game import parse_game, read_game_file
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.exemplars import exemplar
from natlang_envs.alfworld.plans import reference
from natlang_envs.alfworld.textworld.backend import process_state_kept
from natlang_envs.alfworld.textworld.export import export_game, folder_of, game_of
from natlang_envs.errors import UsageError
from tests.natlang_envs.alfworld.test_folder import IDS, put
from tests.support.alfworld_real import needs_textworld
from tests.support.compat_games import CONFIG, config
from tools.alfworld.textworld_speed import faster

pytestmark = [pytest.mark.filterwarnings("ignore:.*official games"), pytest.mark.usefixtures("generated_games")]

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
    again.seed(np.int64(3))  # type: ignore[arg-type]
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


@pytest.mark.parametrize("played", [0, 4, 60])
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda batch: pickle.loads(pickle.dumps(batch))])
def test_a_copy_of_a_batch_goes_on_as_the_batch_does(copied: Any, played: int) -> None:
    settings = config(env__domain_randomization=True, env__expert_type=["handcoded", "planner"][played == 4])
    batch = AlfredTWEnv(settings).init_env(4, group_size=2)
    batch.seed(7)
    batch.skip(3)
    _, infos = batch.reset()
    chance = random.Random(played)

    def commands() -> list[str]:
        return [chance.choice(each) for each in infos["admissible_commands"]]

    for _ in range(played):
        *_, infos = batch.step(commands())
    twin, other = copied(batch), copied(batch)
    for _ in range(3):
        other.step(["look"] * 4)  # and the batch does not feel it
    other.reset()
    for _ in range(5):
        chosen = commands()
        now = batch.step(chosen)
        assert twin.step(chosen) == now
        infos = now[3]
    for _ in range(2 * 5):
        assert twin.reset() == batch.reset()
    assert copied(AlfredTWEnv(settings).init_env(2)).reset() == AlfredTWEnv(settings).init_env(2).reset()


@pytest.mark.parametrize("commands", [[None, "look"], ["look", 3], ["look", ["look"]], ["look"], "look", [b"look"] * 2])
def test_commands_that_are_no_strings_are_refused_in_a_line_and_nothing_is_played(commands: Any) -> None:
    batch, twin = (AlfredTWEnv(CONFIG).init_env(2) for _ in range(2))
    assert batch.reset() == twin.reset()
    with pytest.raises(UsageError, match=r"^step takes [^\n]*$"):
        batch.step(commands)
    assert batch.step(["go to bed 1", "look"]) == twin.step(["go to bed 1", "look"])


@needs_textworld
@pytest.mark.parametrize("seed", [1, 2])
def test_the_package_s_class_says_the_same(seed: int, tmp_path: Path) -> None:
    with process_state_kept(), faster():
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
