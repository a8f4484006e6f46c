"""ALFWorld's environments: rewards and ends, texts and prompts, what a player may type, plans, subgoals, recordings."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs import NatLangEnv, UsageError, unwrap
from natlang_envs.alfworld.env import ALFWorldEnv
from natlang_envs.alfworld.games.size_limits import MAX_COMMANDS
from natlang_envs.alfworld.subgoals import SubgoalReward
from natlang_envs.evaluation import evaluate, load_agent
from natlang_envs.evaluation.protocols import Episode, Protocol
from natlang_envs.evaluation.runner import score_run
from natlang_envs.learners.wrappers import ChatMessages, ChoiceIndexActions, ScaleReward
from natlang_envs.prompt import PathStep, state_prompt
from tests import strategies
from tests.support.transcript import transcript

ANY, TOMATO = "NatLang/ALFWorld-v0", "NatLang/ALFWorld-TomatoMicrowave-v0"
TASK_TYPES = (
    "pick_and_place_simple",
    "look_at_obj_in_light",
    "pick_clean_then_place_in_recep",
    "pick_heat_then_place_in_recep",
    "pick_cool_then_place_in_recep",
    "pick_two_obj_and_place",
)
NOTHING = "Nothing happens."


def make(env_id: str = ANY, **kwargs: Any) -> ALFWorldEnv:
    env = unwrap(gymnasium.make(env_id, **kwargs))
    assert isinstance(env, ALFWorldEnv)
    return env


def begun(env_id: str = ANY, seed: int = 0, **kwargs: Any) -> ALFWorldEnv:
    env = make(env_id, **kwargs)
    env.reset(seed=seed)
    return env


# Rewards and ends.


@pytest.mark.parametrize("task_type", TASK_TYPES)
@pytest.mark.parametrize("grammar", ["json_2.1.1", "0.4.2"])
def test_only_the_step_that_does_the_task_pays(task_type: str, grammar: str) -> None:
    env = begun(task_types=[task_type], grammar=grammar)
    plan = env.reference()
    steps = [env.step(command) for command in plan]
    assert [each[1] for each in steps] == [0.0] * (len(plan) - 1) + [1.0]
    assert [each[2] for each in steps] == [False] * (len(plan) - 1) + [True]
    assert not any(each[3] for each in steps)
    assert [each[4]["success"] for each in steps] == [False] * (len(plan) - 1) + [True]
    assert NOTHING not in [each[0] for each in steps]
    assert env.reference() == []


@pytest.mark.parametrize(("env_id", "horizon"), [(ANY, 50), (TOMATO, 15)])
def test_the_horizon_truncates(env_id: str, horizon: int) -> None:
    env = begun(env_id)
    ends = [env.step("look")[1:4] for _ in range(horizon)]
    assert ends == [(0.0, False, False)] * (horizon - 1) + [(0.0, False, True)]


def test_the_last_step_of_the_horizon_can_do_the_task() -> None:
    env = begun(TOMATO)
    plan = env.reference()
    for _ in range(env.horizon - len(plan)):
        env.step("inventory")
    *_, last = [env.step(command) for command in plan]
    assert last[1:4] == (1.0, True, False)


def test_the_tomato_goes_into_the_microwave() -> None:
    for seed in range(20):
        env = begun(TOMATO, seed)
        assert env.task.endswith(("put a tomato in microwave.", "put some tomato on microwave."))
        *_, put = env.reference()
        assert put.startswith("put tomato ")
        assert put.endswith(" in/on microwave 1")
        assert len(env.reference()) <= env.horizon


# Texts.


def test_observations_are_the_engines_own_text_and_nothing_else() -> None:
    env = make()
    observation, info = env.reset(seed=1)
    welcome, room, task = observation.split("\n\n")
    assert welcome == "-= Welcome to TextWorld, ALFRED! =-"
    assert room.startswith("You are in the middle of a room. Looking quickly around you, you see a ")
    assert task.startswith("Your task is to: ")
    assert info["task"] == f"{room}\n\n{task}"
    for command in (*env.reference(), "dance"):
        observation, *_, info = env.step(command)
        assert info["feedback"] == observation
        assert info["task"] == f"{room}\n\n{task}"
        assert observation == observation.strip()
        if info["success"]:
            break


def test_commands_are_sorted_and_all_understood() -> None:
    for seed in range(4):
        env = begun(seed=seed)
        for step in range(12):
            commands = env.action_space.commands
            assert list(commands) == sorted(commands)
            assert {"look", "inventory"} <= set(commands)
            assert len(commands) <= env.max_commands == MAX_COMMANDS == 128
            here = env.snapshot()
            for command in commands:
                assert env.step(command)[0] != NOTHING, command
                env.restore(here)
            env.step(commands[(step * 37 + seed) % len(commands)])


@pytest.mark.parametrize("grammar", ["json_2.1.1", "0.4.2"])
def test_the_grammars_differ_in_three_things(grammar: str) -> None:
    env = begun(TOMATO, grammar=grammar)
    plan = env.reference()
    new = grammar == "0.4.2"
    assert ("help" in env.action_space.commands) is new
    assert plan[-1].startswith("move tomato" if new else "put tomato")
    assert env.step(plan[0])[0].startswith("You arrive at loc ") is not new


@given(text=strategies.any_text)
def test_any_words_get_an_answer(text: str) -> None:
    env = begun(TOMATO)
    before = env.snapshot().state
    observation, reward, terminated, truncated, info = env.step(text)
    assert observation in env.observation_space
    assert (reward, terminated, truncated) == (0.0, False, False)
    if text.strip() not in info["admissible_commands"] and env.snapshot().state == before:
        assert observation == NOTHING or text.strip() in ("look", "inventory")


@pytest.mark.parametrize(
    "text", ["", "go", "go to fridge 9", "GO TO FRIDGE 1", "take tomato 1", "fly", "go to fridge 1."]
)
def test_nonsense_changes_nothing_but_the_steps(text: str) -> None:
    env = begun(TOMATO)
    before = env.snapshot()
    observation, reward, *_ = env.step(text)
    assert (observation, reward) == (NOTHING, 0.0)
    assert env.snapshot().state == before.state
    assert env.snapshot().steps == 1


# Prompts, as the paper's appendix E.1 shows them: the room and the task, the path with what it showed, nothing twice.


def test_the_prompt_tells_everything_once() -> None:
    env = make(TOMATO)
    observation, info = env.reset(seed=0)
    path: list[PathStep] = []
    first = state_prompt(info["task"], path, observation)
    assert first == f"Task: {env.task}\nPrevious path: none.\nObservation: -= Welcome to TextWorld, ALFRED! =-"
    for command in env.reference()[:3]:
        observation, *_, info = env.step(command)
        path.append(PathStep(command, info["feedback"]))
    told = "".join(f"- {step.action}: {step.feedback}\n" for step in path[:-1])
    assert state_prompt(info["task"], path, observation) == (
        f"Task: {env.task}\nPrevious path:\n{told}- {path[-1].action}\nObservation: {path[-1].feedback}"
    )
    assert state_prompt(info["task"], path, observation, history="none").count(observation) == 1
    assert state_prompt(info["task"], path, observation, history=1).endswith(
        f"Previous path:\n- {path[-1].action}\nObservation: {observation}"
    )


def test_chat_models_read_the_room_at_every_step() -> None:
    env = ChatMessages(gymnasium.make(TOMATO))
    _, info = env.reset(seed=0)
    (_, user), *_ = env.step("go to fridge 1")
    assert info["task"] in user["content"]
    assert user["content"].count("You arrive at") == 1


# What is around it.


def test_actions_by_number_and_scaled_rewards() -> None:
    env = ChoiceIndexActions(ScaleReward(gymnasium.make(TOMATO)))
    inner = unwrap(env)
    _, info = env.reset(seed=0)
    assert env.action_space.n == 128
    assert info["action_mask"].sum() == len(info["admissible_commands"])
    for command in inner.reference():
        _, reward, terminated, _, info = env.step(inner.action_space.commands.index(command))
    assert (reward, terminated) == (1.0, True)


def test_the_random_agent_is_nearly_always_lost_and_the_plan_never() -> None:
    env = make(TOMATO, split="test")
    episodes = tuple(Episode(task_id, seed) for seed, task_id in zip(range(10), env.tasks.ids(), strict=False))
    protocol = Protocol("mine/v1", TOMATO, {"split": "test"}, 15, 10, episodes, "")
    rates = {
        name: score_run(protocol, evaluate(load_agent(name), protocol)[1]).success_rate
        for name in ("random", "random-legal", "reference", "expert")
    }
    assert rates["random"] <= 0.02
    assert rates["random-legal"] <= 0.02
    assert rates["reference"] == 1.0
    assert rates["expert"] >= 0.5, "fifteen steps are few to search a kitchen in"


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"split": "tset"}, "unknown split 'tset': choose one of test"),
        ({"task_types": []}, "task_types must be a list of names such as 'pick_and_place_simple', not []"),
        ({"task_types": "pick_two_obj_and_place"}, "task_types must be a list of names"),
        ({"task_types": ["pick_two"]}, "unknown task type 'pick_two': choose one of pick_and_place_simple"),
        ({"goal": "Tomato"}, "has the goal 'Tomato': write it as OBJECT-RECEPTACLE"),
        ({"source": "offical"}, "unknown source 'offical': choose one of official"),
        ({"grammar": "0.4"}, "unknown grammar '0.4': choose one of 0.4.2"),
        ({"task_types": [0]}, "unknown task type 0: choose a number from 1 to 6, or a name"),
        ({"task_types": [7]}, "unknown task type 7: choose a number from 1 to 6, or a name"),
        ({"backend": "thor"}, "unknown backend 'thor': choose one of"),
        ({"game": "no/such/game.tw-pddl"}, "no/such/game.tw-pddl cannot be read"),
        ({"horizon": 0}, "horizon must be a whole number"),
        ({"render_mode": "rgb_array"}, "unknown render_mode 'rgb_array'"),
    ],
)
def test_wrong_arguments_are_named_in_one_line(changed: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError) as caught:
        ALFWorldEnv(**changed)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


# Plans and states.


@given(st.data())
def test_a_snapshot_restores_the_room_and_the_plan_wins_from_anywhere(data: st.DataObject) -> None:
    env = begun(seed=data.draw(st.integers(0, 30)))
    for _ in range(data.draw(st.integers(0, 20))):
        *_, terminated, _, _ = env.step(data.draw(st.sampled_from(env.action_space.commands)))
        if terminated:
            return
    saved, plan, commands = env.snapshot(), env.reference(), env.action_space.commands
    env.reset()
    env.restore(json.loads(json.dumps(saved)))
    assert (env.snapshot(), env.reference(), env.action_space.commands) == (saved, plan, commands)
    assert [env.step(command)[4]["success"] for command in plan] == [False] * (len(plan) - 1) + [True]


def test_there_is_a_reference_and_no_exact_oracle() -> None:
    env: NatLangEnv = begun()
    assert env.reference()
    with pytest.raises(NotImplementedError, match=r"has no exact oracle: use reference\(\)"):
        env.oracle()


# Subgoals.


@pytest.mark.parametrize(
    ("task_type", "paid"),
    [
        ("pick_and_place_simple", 1),
        ("look_at_obj_in_light", 1),  # the plan takes the object first, and the lamp ends it
        ("pick_clean_then_place_in_recep", 2),
        ("pick_heat_then_place_in_recep", 2),
        ("pick_cool_then_place_in_recep", 2),
        ("pick_two_obj_and_place", 2),
    ],
)
def test_each_subgoal_pays_once(task_type: str, paid: int) -> None:
    for seed in range(5):
        env = SubgoalReward(gymnasium.make(ANY, task_types=[task_type]), reward=0.125)
        env.reset(seed=seed)
        rewards: list[float] = []
        for command in unwrap(env).reference():
            rewards += [float(env.step("inventory")[1]) for _ in range(2)]  # to look about pays nothing
            _, reward, _, _, info = env.step(command)
            rewards.append(float(reward))
        lit = "look" in task_type
        assert info["success"]
        assert rewards[-1] == 1.0 + (0.125 if lit else 0.0)
        assert sum(rewards) == 1.0 + 0.125 * (paid + lit)
        assert sorted(rewards)[: -paid - 1] == [0.0] * (len(rewards) - paid - 1)


def test_subgoals_are_off_unless_asked_for_and_for_alfworld_only() -> None:
    assert begun(TOMATO).step("inventory")[1] == 0.0
    with pytest.raises(UsageError, match="has no subgoals"):
        SubgoalReward(gymnasium.make("NatLang/DangerousTaxi-v0"))
    with pytest.raises(UsageError, match="reward must be a positive number, not 0"):
        SubgoalReward(gymnasium.make(ANY), reward=0)
    env = gymnasium.make(ANY)
    assert "SubgoalReward" in SubgoalReward(env, reward=0.5).spec.to_json()  # type: ignore[union-attr]


# Recorded games.


@pytest.mark.parametrize(
    ("env_id", "kwargs", "task_id"),
    [
        (TOMATO, {}, "generated/seen/pick_and_place_simple/20/002"),
        (ANY, {"grammar": "0.4.2"}, "generated/unseen/pick_heat_then_place_in_recep/10/007"),
        (ANY, {}, "generated/seen/look_at_obj_in_light/301/016"),
    ],
)
def test_golden_transcripts(
    env_id: str, kwargs: dict[str, Any], task_id: str, golden: Callable[[str, str], None]
) -> None:
    """The plan's way, and then one of looking about and of nonsense: every character that a player sees."""
    env = make(env_id, **kwargs)
    env.reset(options={"task_id": task_id})
    plan = env.reference()
    about = ["look", plan[0], "look", "inventory", "help", "examine fridge 1", "dance"]
    lines = [env_id, *transcript(env, task_id, (plan, about))]
    golden(f"alfworld-{task_id.removeprefix('generated/').replace('/', '-')}.txt", "\n".join(lines) + "\n")


def test_task_types_have_the_numbers_that_the_alfworld_package_gives_them() -> None:
    names = ("pick_and_place_simple", "look_at_obj_in_light", "pick_clean_then_place_in_recep")
    names += ("pick_heat_then_place_in_recep", "pick_cool_then_place_in_recep", "pick_two_obj_and_place")
    for number, name in enumerate(names, 1):
        env = begun(task_types=[number])
        assert f"/{name}/" in env.snapshot().task_id
