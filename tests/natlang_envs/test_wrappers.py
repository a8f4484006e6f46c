"""The wrappers, on real episodes: what they change, what they refuse, and that a spec describes them."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.envs.registration import EnvSpec
from gymnasium.utils.env_checker import check_env

import natlang_envs
from natlang_envs import NatLangEnv, UsageError, unwrap
from natlang_envs.dangerous_taxi.env import DangerousTaxiEnv
from natlang_envs.dangerous_taxi.words import COMMANDS, DONE
from natlang_envs.learners import vector_wrappers
from natlang_envs.learners.wrappers import ChatMessages, ChoiceIndexActions, MilestoneReward, ScaleReward
from natlang_envs.prompt import PathStep, state_prompt

IDS = [entry.id for entry in natlang_envs.ENVIRONMENTS]
TASK = {"task_id": "classic/2.3/red-green"}
PICKED_UP = DONE[COMMANDS.index("pick up passenger")]


def make(id: str = "NatLang/DangerousTaxi-v0", **kwargs: Any) -> gymnasium.Env[Any, Any]:
    return gymnasium.make(id, **kwargs)


def follow_plan(env: gymnasium.Env[Any, Any], options: dict[str, Any] = TASK) -> list[float]:
    env.reset(seed=0, options=options)
    return [float(env.step(command)[1]) for command in unwrap(env).reference()]


@pytest.mark.parametrize("id", IDS)
def test_scaled_rewards_are_within_one_and_proportional(id: str) -> None:
    raw, scaled = make(id), ScaleReward(make(id))
    raw.reset(seed=0)
    scaled.reset(seed=0)
    family = id.removeprefix("NatLang/").partition("-")[0]
    largest = {"DangerousTaxi": 20.0, "AutoExplore": 15.0, "ALFWorld": 1.0}[family]
    seen: set[float] = set()
    raw.action_space.seed(0)
    for _ in range(300):
        action = raw.action_space.sample()
        _, reward, terminated, truncated, _ = raw.step(action)
        _, divided, *_ = scaled.step(action)
        assert divided == reward / largest
        assert -1 <= float(divided) <= 1
        seen.add(divided)
        if terminated or truncated:
            raw.reset()
            scaled.reset()
    usual = {"DangerousTaxi": {-0.5, -0.05}, "AutoExplore": {-1.0, -1 / 15}, "ALFWorld": {0.0}}
    assert seen >= usual[family]
    assert max(map(abs, follow_plan(scaled, {}))) == 1.0


def test_scale_can_be_given() -> None:
    assert follow_plan(ScaleReward(make(), 4))[-1] == 5.0


def test_rewards_are_not_divided_a_second_time_unless_asked() -> None:
    twice: list[tuple[Any, Any]] = [(ScaleReward, make()), (vector_wrappers.ScaleReward, gymnasium.make_vec(IDS[0], 2))]
    for wrapper, env in twice:
        with pytest.raises(UsageError, match=r"^the rewards are divided already: leave the second ScaleReward out"):
            wrapper(wrapper(env))
        assert wrapper(wrapper(env), 2).scale == 2


@pytest.mark.parametrize("scale", [0, -1.0, float("nan"), float("inf")])
def test_a_scale_that_is_no_positive_number_is_refused(scale: float) -> None:
    with pytest.raises(UsageError, match="scale must be a positive number"):
        ScaleReward(make(), scale)


def test_choice_index_plays_the_listed_command() -> None:
    by_number, by_text = ChoiceIndexActions(make()), make()
    assert by_number.action_space == gymnasium.spaces.Discrete(6)
    _, info = by_number.reset(options=TASK)
    by_text.reset(options=TASK)
    for command in unwrap(by_text).reference():
        expected = by_text.step(command)
        actual = by_number.step(np.int64(info["admissible_commands"].index(command)))
        info = actual[4]
        assert actual[:4] == expected[:4]
        np.testing.assert_array_equal(info.pop("action_mask"), np.ones(6))
        assert info == expected[4]


@pytest.mark.parametrize("index", [-1, 6, 1_000])
def test_an_index_out_of_range_is_refused_and_changes_nothing(index: int) -> None:
    env = ChoiceIndexActions(make())
    env.reset(options=TASK)
    before = unwrap(env).snapshot()
    with pytest.raises(UsageError, match=f"action {index} is none of the 6 listed"):
        env.step(index)
    assert unwrap(env).snapshot() == before


@pytest.mark.parametrize("index", ["move south", 1.0, None])
def test_an_index_that_is_no_whole_number_is_refused(index: Any) -> None:
    env = ChoiceIndexActions(make())
    env.reset()
    with pytest.raises(TypeError):
        env.step(index)


class _TwoOfThree(DangerousTaxiEnv):
    """Lists fewer commands than the id's largest number, as other environments do."""

    def _admissible_commands(self) -> tuple[str, ...]:
        return COMMANDS[:2] if self._steps == 0 else COMMANDS


def test_the_mask_follows_the_listed_commands() -> None:
    env = ChoiceIndexActions(_TwoOfThree())
    _, info = env.reset(options=TASK)
    assert info["action_mask"].tolist() == [1, 1, 0, 0, 0, 0]
    env.action_space.seed(0)
    assert {int(env.action_space.sample(info["action_mask"])) for _ in range(50)} == {0, 1}
    with pytest.raises(UsageError, match="action 2 is none of the 2 listed"):
        env.step(2)
    assert env.step(1)[4]["action_mask"].tolist() == [1] * 6


def test_choice_index_follows_a_restored_snapshot() -> None:
    env = ChoiceIndexActions(_TwoOfThree())
    env.reset(options=TASK)
    start = unwrap(env).snapshot()
    env.step(1)
    unwrap(env).restore(start)
    with pytest.raises(UsageError, match="none of the 2 listed"):
        env.step(5)


def test_what_is_no_snapshot_is_refused_in_one_line_and_changes_nothing() -> None:
    env = unwrap(make())
    env.reset(options=TASK)
    before = env.snapshot()
    for wrong in ([], list(before)[:-2], [*before, 1]):  # the last part is one that older ones lack
        with pytest.raises(UsageError, match="a snapshot has 9 parts"):
            env.restore(wrong)
    assert env.snapshot() == before


def test_a_milestone_is_paid_once_an_episode() -> None:
    plain = follow_plan(make())
    wrapped = MilestoneReward(make(), PICKED_UP, 21)
    dropoff = follow_plan(make("NatLang/DangerousTaxi-Dropoff-v0"))
    assert plain != dropoff
    assert follow_plan(wrapped) == dropoff
    assert follow_plan(wrapped) == dropoff  # and again after a reset


def test_a_milestone_shown_twice_is_paid_once() -> None:
    env = MilestoneReward(make(), "The taxi moved north.", 5)
    env.reset(options=TASK)
    rewards = [float(env.step(command)[1]) for command in ("move north", "move south", "move north")]
    assert rewards == [4.0, -1.0, -1.0]


def test_a_milestone_that_a_won_episode_never_showed_is_told_once(recwarn: pytest.WarningsRecorder) -> None:
    misspelt = MilestoneReward(make(), PICKED_UP.replace("got into", "got in"), 21)
    with pytest.warns(UserWarning, match=f"no step so far said .* got in the taxi.*nearest to it was '{PICKED_UP}'"):
        plain = follow_plan(misspelt)
    assert plain == follow_plan(make())
    recwarn.clear()
    follow_plan(misspelt)
    follow_plan(MilestoneReward(make(), PICKED_UP, 21))
    assert not recwarn


def test_chat_messages_hold_the_prompt_and_the_commands() -> None:
    env = ChatMessages(make(), history=1)
    messages, info = env.reset(options=TASK)
    path: list[PathStep] = []
    for command in ("move north", "move south"):
        assert [message["role"] for message in messages] == ["system", "user"]
        state = state_prompt(info["task"], path, unwrap(env).snapshot().observation, history=1)
        listed = "\n".join(f"- {each}" for each in COMMANDS)
        assert messages[1]["content"] == f"{state}\nActions:\n{listed}"
        assert env.observation_space.contains(messages)
        messages, _, _, _, info = env.step(command)
        path.append(PathStep(command, info["feedback"]))
    assert "- move south: The taxi moved south." in messages[1]["content"]
    assert "- move north: " not in messages[1]["content"]  # only the newest step is kept
    messages, _ = env.reset(options=TASK)
    assert "Previous path: none." in messages[1]["content"]


def test_wrappers_that_read_commands_say_where_they_belong() -> None:
    for wrapper in (ChatMessages, ChoiceIndexActions):
        with pytest.raises(UsageError, match="put it further inside"):
            wrapper(ChoiceIndexActions(make()))
    with pytest.raises(UsageError, match="history must be"):
        ChatMessages(make(), history="all")  # pyright: ignore[reportArgumentType]


def test_a_wrapped_environment_is_made_again_from_its_spec() -> None:
    env = make("NatLang/DangerousTaxi-Dropoff-v0", map="generated", split="test")
    env = ChoiceIndexActions(ChatMessages(MilestoneReward(ScaleReward(env, 10), PICKED_UP, 0.5), history=2))
    assert env.spec is not None
    again = gymnasium.make(EnvSpec.from_json(env.spec.to_json()))
    inner = unwrap(again)
    assert isinstance(inner, NatLangEnv)
    observation, info = env.reset(seed=5)
    same, same_info = again.reset(seed=5)
    assert same == observation
    assert same_info["task_id"] == info["task_id"]
    for action in (0, 1):
        left, right = env.step(action), again.step(action)
        assert left[:4] == right[:4]
        if left[2]:
            break


def test_chat_messages_go_through_a_vector_environment() -> None:
    envs = gymnasium.vector.SyncVectorEnv([lambda: ChatMessages(make()) for _ in range(2)])
    messages, _ = envs.reset(seed=3)
    alone, _ = ChatMessages(make()).reset(seed=4)
    assert messages[1]["content"][1] == alone[1]["content"]


@pytest.mark.parametrize("wrapper", [ScaleReward, ChoiceIndexActions, ChatMessages])
def test_the_checker_of_gymnasium_passes(wrapper: Any, recwarn: pytest.WarningsRecorder) -> None:
    check_env(wrapper(make()), skip_render_check=True)
    # The checker always asks why a wrapped environment is given to it; it says nothing else.
    ours = [str(each.message) for each in recwarn if "different from the unwrapped version" not in str(each.message)]
    assert ours == []
