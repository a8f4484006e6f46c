"""The vector form against single environments, with commands, tasks and masks that Hypothesis makes up.

That it equals `SyncVectorEnv` in all three autoreset modes is a conformance check; here are the words and lists that
the check does not think of, and what is refused.
"""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import load_env_creator
from gymnasium.error import ResetNeeded
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs import ENVIRONMENTS, NatLangEnv, Registration, UsageError, unwrap
from natlang_envs.conformance.case import assert_same, plain
from natlang_envs.dangerous_taxi import DangerousTaxiEnv, DangerousTaxiVectorEnv
from tests import strategies

DROPOFF = "NatLang/DangerousTaxi-Dropoff-v0"
CLASSIC_IDS = ["classic/1.0/red-green", "classic/4.4/blue-red", "classic/2.2/yellow-blue"]
KEYS = {"admissible_commands", "success", "task_id", "task", "feedback"}


def make(num_envs: int, mode: AutoresetMode = AutoresetMode.DISABLED, **kwargs: Any) -> VectorEnv[Any, Any, Any]:
    return gymnasium.make_vec(DROPOFF, num_envs, autoreset_mode=mode.value, **kwargs)


def make_single(**kwargs: Any) -> NatLangEnv:
    return unwrap(gymnasium.make(DROPOFF, **kwargs))


@st.composite
def games(draw: st.DrawFn) -> tuple[list[int], list[tuple[str, ...]]]:
    """The seeds of one to four environments, and commands for all of them at each step."""
    width = draw(st.integers(1, 4))
    row = st.lists(strategies.action, min_size=width, max_size=width).map(tuple)
    return draw(st.lists(strategies.seeds, min_size=width, max_size=width)), draw(
        st.lists(row, min_size=1, max_size=12)
    )


@given(game=games(), mode=st.sampled_from(AutoresetMode), kind=st.sampled_from(["classic", "generated"]))
def test_any_commands_give_what_sync_gives(game: Any, mode: AutoresetMode, kind: str) -> None:
    seeds, steps = game
    vector = make(len(seeds), mode, map=kind)
    sync = SyncVectorEnv([lambda: gymnasium.make(DROPOFF, map=kind)] * len(seeds), autoreset_mode=mode)
    assert_same([repr(plain(sync.reset(seed=seeds)))], [repr(plain(vector.reset(seed=seeds)))], "reset")
    for actions in steps:
        expected = sync.step(actions)
        assert_same([repr(plain(expected))], [repr(plain(vector.step(actions)))], f"step with {actions}")
        ended = expected[2] | expected[3]
        if mode is AutoresetMode.DISABLED and ended.any():
            expected_reset = sync.reset(options={"reset_mask": ended.copy()})
            actual_reset = vector.reset(options={"reset_mask": ended.copy()})
            assert_same([repr(plain(expected_reset))], [repr(plain(actual_reset))], f"reset of {ended}")


@given(
    kind=st.sampled_from(["classic", "generated"]),
    split=st.sampled_from(["train", "validation", "test", "all"]),
    seeds=st.lists(strategies.seeds, min_size=3, max_size=3),
    order=st.permutations(range(3)),
)
def test_task_lists_with_masks_begin_those_tasks_only(
    kind: str, split: str, seeds: list[int], order: list[int]
) -> None:
    vector = make(3, map=kind, split=split)
    singles = [make_single(map=kind, split=split) for _ in range(3)]
    ids = [single.reset(seed=seed)[1]["task_id"] for single, seed in zip(singles, seeds, strict=True)]
    before, _ = vector.reset(seed=0)
    mask = np.array([True, False, True])
    wanted = [ids[index] for index in order]
    after, infos = vector.reset(options={"task_id": wanted, "reset_mask": mask})
    assert infos["task_id"].tolist() == [wanted[0], None, wanted[2]]
    assert infos["_task_id"].tolist() == mask.tolist()
    assert after[1] == before[1]
    for index in (0, 2):
        assert after[index] == make_single(map=kind, split=split).reset(options={"task_id": wanted[index]})[0]


def test_infos_are_arrays_with_their_masks() -> None:
    vector = make(3)
    _, infos = vector.reset(seed=0)
    assert set(infos) == KEYS | {f"_{key}" for key in KEYS}
    assert infos["success"].dtype == np.bool_
    assert infos["admissible_commands"].dtype == object
    assert all(isinstance(each, tuple) for each in infos["admissible_commands"])
    assert all(infos[f"_{key}"].all() for key in KEYS)


def test_samples_are_a_random_agent() -> None:
    vector = make(64, AutoresetMode.SAME_STEP)
    fallback = vector.action_space.sample()
    _, infos = vector.reset(seed=0)
    vector.action_space.seed(0)
    for actions in (fallback, *(vector.action_space.sample() for _ in range(20))):
        assert actions in vector.action_space
        assert all(action in listed for action, listed in zip(actions, infos["admissible_commands"], strict=True))
        infos = vector.step(actions)[4]


def test_what_was_handed_out_does_not_change_later() -> None:
    vector = make(2, AutoresetMode.SAME_STEP)
    results = [vector.reset(seed=0), *(vector.step(("move south", "jump")) for _ in range(5))]
    frozen = [repr(plain(each)) for each in results]
    for _ in range(5):
        vector.step(("move north", "drop off passenger"))
    assert [repr(plain(each)) for each in results] == frozen


def test_rendering_is_one_picture_an_environment() -> None:
    vector = make(2, render_mode="ansi")
    vector.reset(options={"task_id": CLASSIC_IDS[:2]})
    singles = [make_single(render_mode="ansi") for _ in range(2)]
    for single, task_id in zip(singles, CLASSIC_IDS, strict=False):
        single.reset(options={"task_id": task_id})
    assert vector.render() == tuple(single.render() for single in singles)
    assert make(2).render() is None


# What is refused, and that nothing changes by it.


def test_a_step_needs_every_environment_in_an_episode() -> None:
    vector = make(2)
    with pytest.raises(ResetNeeded, match="environment 0 is not in an episode"):
        vector.step(("move south", "move south"))
    vector.reset(seed=0, options={"task_id": CLASSIC_IDS[0]})
    vector.step(("move south", "jump"))
    with pytest.raises(ResetNeeded, match="environment 1 is not in an episode"):
        vector.step(("move south", "move south"))
    vector.reset(options={"reset_mask": np.array([False, True])})
    vector.step(("move north", "jump"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"seed": [1]}, "seed must have 3 entries, one an environment, not 1"),
        ({"options": {"task_id": CLASSIC_IDS[:2]}}, "task_id must have 3 entries, one an environment, not 2"),
        ({"options": {"task_id": [*CLASSIC_IDS[:2], "classic/9.9/red-green"]}}, "unknown task 'classic/9.9/red-green'"),
        ({"options": {"task_id": "map-0001/0.0/red-green"}}, "unknown task|another kind of map"),
        ({"options": {"reset_mask": [True, False]}}, "reset_mask must be 3 booleans"),
        ({"options": {"reset_mask": [1, 0, 0]}}, "reset_mask must be 3 booleans"),
        ({"options": {"reset_mask": np.zeros(3, dtype=np.bool_)}}, "at least one True"),
    ],
)
def test_a_wrong_reset_is_named_and_changes_nothing(arguments: dict[str, Any], words: str) -> None:
    vector, twin = make(3), make(3)
    for each in (vector, twin):
        each.reset(seed=5, options={"task_id": CLASSIC_IDS})
    with pytest.raises(UsageError, match=words):
        vector.reset(**arguments)
    legal = tuple(make_single_at(task_id).safe_commands()[0] for task_id in CLASSIC_IDS)
    assert repr(plain(vector.step(legal))) == repr(plain(twin.step(legal)))
    assert repr(plain(vector.reset())) == repr(plain(twin.reset())), "the random numbers have moved"


def make_single_at(task_id: str) -> NatLangEnv:
    env = make_single()
    env.reset(options={"task_id": task_id})
    return env


def test_wrong_actions_are_named_and_change_nothing() -> None:
    vector, twin = make(2), make(2)
    for each in (vector, twin):
        each.reset(seed=5)
    with pytest.raises(UsageError, match=r"step\(\) takes 2 actions, one an environment, not 3"):
        vector.step(("move south",) * 3)
    for wrong in (None, 3, b"move south"):
        with pytest.raises(TypeError, match="an action is a str such as 'move south'"):
            vector.step(("move south", wrong))
    assert repr(plain(vector.step(("jump", "jump")))) == repr(plain(twin.step(("jump", "jump"))))


@pytest.mark.parametrize(
    ("kwargs", "words"),
    [
        (
            {"autoreset_mode": "Sometimes"},
            "unknown autoreset_mode 'Sometimes': choose one of NextStep, SameStep, Disabled",
        ),
        ({"split": "tset"}, "unknown split 'tset'"),
        ({"stage": "drive"}, "unknown stage 'drive'"),
    ],
)
def test_wrong_arguments_are_named(kwargs: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        gymnasium.make_vec(DROPOFF, 2, vectorization_mode="vector_entry_point", **kwargs)


@pytest.mark.parametrize("number", [0, -1, 2.0])
@pytest.mark.parametrize("id", ["NatLang/ALFWorld-v0", "NatLang/AutoExplore-v0", DROPOFF])
def test_no_environments_are_no_vector(id: str, number: Any) -> None:
    with pytest.raises(UsageError, match=f"^num_envs must be a whole number of at least 1, not {number}"):
        gymnasium.make_vec(id, number, vectorization_mode="vector_entry_point")


@pytest.mark.parametrize("id", ["NatLang/ALFWorld-v0", "NatLang/AutoExplore-v0", "NatLang/DangerousTaxi-v0"])
def test_ansi_shows_the_situation_in_both_forms(id: str) -> None:
    single = gymnasium.make(id, render_mode="ansi")
    many = gymnasium.make_vec(id, 2, render_mode="ansi")
    assert many.metadata["render_modes"] == single.metadata["render_modes"]
    seen, info = single.reset(seed=3)
    many.reset(seed=[3, 4])
    for _ in range(3):
        first = many.render()[0]
        assert first == single.render()
        if "rgb_array" not in single.metadata["render_modes"]:
            assert all(each in first for each in (seen, info["task"], *info["admissible_commands"]))
        command = info["admissible_commands"][0]
        seen, _, terminated, truncated, info = single.step(command)
        many.step([command, command])
        if terminated or truncated:
            break


# Attributes and methods of single environments.


@pytest.mark.parametrize("env_id", ["NatLang/ALFWorld-v0", "NatLang/DangerousTaxi-v0"])
def test_what_is_set_is_kept_or_refused(env_id: str) -> None:
    envs: Any = gymnasium.make_vec(env_id, 2)
    envs.reset(seed=0)
    for name in ("horizon", "render_mode", "tasks"):
        with pytest.raises(UsageError, match=f"'{name}' cannot be set in .*: make the environments with it"):
            envs.set_attr(name, "other")
    with pytest.raises(UsageError, match="horizon must have 2 entries"):
        envs.set_attr("horizon", [3])
    envs.set_attr("np_random", [np.random.default_rng(seed) for seed in (1, 2)])
    twins = [gymnasium.make(env_id) for _ in range(2)]
    for twin, seed in zip(twins, (1, 2), strict=True):
        twin.unwrapped.np_random = np.random.default_rng(seed)
    assert envs.reset()[1]["task_id"].tolist() == [twin.reset()[1]["task_id"] for twin in twins]


def test_random_numbers_that_cannot_go_back_are_drawn_one_by_one() -> None:
    envs: Any = make(1)
    envs.set_attr("np_random", [np.random.Generator(np.random.MT19937(4))])
    twin = make_single()
    twin.np_random = np.random.Generator(np.random.MT19937(4))
    for _ in range(3):
        assert envs.reset()[1]["task_id"][0] == twin.reset()[1]["task_id"]
        assert envs.call("task") == (twin.task,)


def test_set_stage_would_do_nothing_and_is_refused() -> None:
    envs: Any = make(2)
    with pytest.raises(UsageError, match="'stage' cannot be set"):
        envs.set_attr("stage", "pickup")


@pytest.mark.parametrize("padding", ["{}\n", " {}", "\t{}\r\n", "\u00a0{}\u2003"])
@pytest.mark.parametrize("env_id", ["NatLang/ALFWorld-v0", "NatLang/AutoExplore-v0", "NatLang/DangerousTaxi-v0"])
def test_white_space_around_a_command_counts_for_nothing(env_id: str, padding: str) -> None:
    kwargs = {"dataset": "embedded"} if "AutoExplore" in env_id else {}
    one, other = (gymnasium.make_vec(env_id, 2, **kwargs) for _ in range(2))
    _, infos = one.reset(seed=4)
    other.reset(seed=4)
    commands = [each[0] for each in infos["admissible_commands"]]
    padded = [padding.format(command) for command in commands]
    assert repr(one.step(commands)) == repr(other.step(padded))


def test_nothing_else_is_forgiven() -> None:
    for wrong in ("Move south", "move  south", "move south.", "`move south`", "move south\u200b", "\ufeffmove south"):
        env, vector = make_single(), make(1)
        env.reset(options={"task_id": CLASSIC_IDS[0]})
        vector.reset(options={"task_id": CLASSIC_IDS[0]})
        assert env.step(wrong)[1:3] == (-10.0, True)
        assert vector.step([wrong])[1].tolist() == [-10.0]


# The arguments: those of the single environment, in every vector form.


def arguments_of(environment: Any) -> dict[str, Parameter]:
    return dict(list(signature(environment.__init__).parameters.items())[1:])


def test_the_fast_form_shows_the_arguments_of_the_single_one() -> None:
    shown = dict(signature(DangerousTaxiVectorEnv).parameters)
    assert [shown.pop(name).default for name in ("num_envs", "max_episode_steps")] == [1, None]
    assert shown.pop("autoreset_mode").default is AutoresetMode.NEXT_STEP
    assert shown == arguments_of(DangerousTaxiEnv)


@pytest.mark.parametrize("entry", ENVIRONMENTS, ids=lambda entry: entry.id)
def test_a_vector_form_takes_every_argument_of_the_single_one(entry: Registration) -> None:
    given = {name: each.default for name, each in arguments_of(load_env_creator(entry.entry_point)).items()}
    given |= {**entry.kwargs, **({"dataset": "embedded"} if "dataset" in given else {})}
    form = gymnasium.make_vec(entry.id, 2, vectorization_mode="vector_entry_point", **given)
    assert form.num_envs == 2
    assert form.horizon == given["horizon"]
    with pytest.raises(UsageError, match="unknown argument 'no_such'"):
        gymnasium.make_vec(entry.id, 2, vectorization_mode="vector_entry_point", no_such=1)


class TaxiAt(DangerousTaxiEnv):
    def __init__(self, stage: Any = "delivery", hour: int = 8, **arguments: Any) -> None:
        super().__init__(stage, **arguments)
        self.hour = hour


class TaxiAtVectorEnv(DangerousTaxiVectorEnv):
    single_class = TaxiAt


def test_an_argument_is_written_once_for_both_forms() -> None:
    assert [*signature(TaxiAtVectorEnv).parameters][:3] == ["num_envs", "stage", "hour"]
    form = TaxiAtVectorEnv(2, "pickup", hour=9, map="generated", autoreset_mode="SameStep")
    assert form.get_attr("hour") == (9, 9)
    assert form.get_attr("stage") == ("pickup", "pickup")
