"""Names that nobody knows are refused, the nearest known ones named: options of `reset`, arguments of `make`."""

from __future__ import annotations

from inspect import signature
from typing import Any

import gymnasium
import pytest
from gymnasium.envs.registration import load_env_creator

from natlang_envs import ENVIRONMENTS, UsageError, record, unwrap
from natlang_envs.errors import require_choice
from natlang_envs.evaluation import evaluate, load_agent, load_protocol
from natlang_envs.evaluation.agents import RandomAgent
from natlang_envs.learners.wrappers import ScaleReward
from natlang_envs.make_env import make_env
from natlang_envs.two_player import aec_env, parallel_env
from tests.support.corridor import Corridor

IDS = [entry.id for entry in ENVIRONMENTS]
TAXI = "NatLang/DangerousTaxi-v0"
WRONG = [
    ({"gamefile": "x/game.tw-pddl"}, "unknown option of reset 'gamefile': choose one of task_id"),
    ({"taskid": "classic/2.3/red-green"}, "unknown option of reset 'taskid': choose one of task_id"),
    ({"task": "classic/2.3/red-green"}, "unknown option of reset 'task': choose one of task_id"),
    ({"task_ID": "classic/2.3/red-green"}, "unknown option of reset 'task_ID': choose one of task_id"),
    ({"id": "classic/2.3/red-green"}, "unknown option of reset 'id': choose one of task_id"),
    ({"split": "test"}, r"'split' is no option of reset: give it to gymnasium.make\(split=…\)"),
    ({"seed": 3}, r"a seed is no option: write reset\(seed=…\)"),
    ({7: 8}, "unknown option of reset '7'"),
    ({"task_id": 7}, "task_id must be"),
    (["task_id"], "options must be a dict such as {'task_id': …}, not \\['task_id'\\]"),
]


def through(form: str, env_id: str) -> Any:
    if form in ("vector_entry_point", "sync"):
        return gymnasium.make_vec(env_id, 2, vectorization_mode=form)
    return {"single": gymnasium.make, "aec": aec_env, "parallel": parallel_env}[form](env_id)


@pytest.mark.parametrize(("options", "words"), WRONG, ids=lambda given: str(given)[:32])
@pytest.mark.parametrize("form", ["single", "vector_entry_point", "aec", "parallel"])
def test_an_unknown_option_is_refused_in_every_form(form: str, options: Any, words: str) -> None:
    for env_id in (TAXI, "NatLang/ALFWorld-v0"):
        env = through(form, env_id)
        with pytest.raises(UsageError, match=words) as caught:
            env.reset(seed=0, options=options)
        assert "\n" not in str(caught.value)


def test_pettingzoos_own_placeholder_is_passed_over_by_two_players_alone() -> None:
    aec_env(TAXI).reset(seed=0, options={"options": 1})
    with pytest.raises(UsageError, match="unknown option of reset 'options'"):
        gymnasium.make(TAXI).reset(options={"options": 1})


def test_a_protocol_being_recorded_takes_no_options(tmp_path: Any) -> None:
    env = record(load_protocol("dangerous-taxi-pickup-cities/v1"), tmp_path / "run")
    with pytest.raises(UsageError, match="the protocol says which task is next: leave the options"):
        env.reset(options={"task_id": "classic/2.3/red-green"})


@pytest.mark.parametrize("seed", [1.5, "5", [1, 2.5], [1, -1], ["1", 2], -3, True + 0.5], ids=str)
@pytest.mark.parametrize("env_id", [TAXI, "NatLang/ALFWorld-v0"])
def test_a_seed_that_is_none_is_refused_and_seeds_nothing(env_id: str, seed: Any) -> None:
    envs: Any = gymnasium.make_vec(env_id, 2)
    envs.reset(seed=[5, 9])
    with pytest.raises(UsageError, match="seed"):
        envs.reset(seed=seed)
    assert envs.np_random_seed == (5, 9)


@pytest.mark.parametrize("env_id", IDS)
def test_an_unknown_argument_is_named_with_the_nearest(env_id: str) -> None:
    for given, nearest in (("splt", "split"), ("horzion", "horizon"), ("max_steps", "max_episode_steps")):
        words = f"^unknown argument '{given}': choose one of {nearest}\\b"
        for make in (gymnasium.make, aec_env, gymnasium.make_vec):
            with pytest.raises(UsageError, match=words):
                make(env_id, **{given: "x"})
    for given in ("autoreset", "autoreset_mod"):
        with pytest.raises(UsageError, match=f"^unknown argument '{given}': choose one of autoreset_mode"):
            gymnasium.make_vec(env_id, 2, **{given: "SameStep"})
    with pytest.raises(UsageError, match=r"^unknown argument 'histroy': choose one of history\b"):
        aec_env(env_id, histroy="none")


OTHER_KINDS = {"an object": object(), "a list": [], "a number": -3, "a text": "nobody", "an empty text": ""}


@pytest.mark.parametrize("kind", OTHER_KINDS)
@pytest.mark.parametrize("env_id", IDS)
def test_every_argument_refuses_what_is_of_another_kind(env_id: str, kind: str) -> None:
    cls: Any = load_env_creator(str(gymnasium.spec(env_id).entry_point))
    for name in list(signature(cls.__init__).parameters)[1:]:
        if name != "render_mode":  # Gymnasium's own
            with pytest.raises(UsageError) as refusal:
                gymnasium.make(env_id, **{name: OTHER_KINDS[kind]})
            assert "\n" not in str(refusal.value)


def _north(given: Any) -> str:
    return "move north"


EVALUATED = [
    ({"name": 3}, "3 is no name: give what the agent is to be called"),
    ({"episodes": "3"}, "episodes must be a whole number of at least 1, not '3'"),
    ({"episodes": True}, "episodes must be a whole number of at least 1, not True"),
    ({"batch": None}, "batch must be a whole number"),
    ({"concurrency": 1.5}, "concurrency must be a whole number"),
    ({"resume": "no"}, "resume must be True or False, not 'no'"),
    ({"workers": 2}, r"2 is no workers: give workers=Workers\(count\)"),
    ({"agent": "random"}, r"'random' is no agent: give .* or load_agent\(name\)"),
    ({"agent": RandomAgent}, "<class '.*RandomAgent'> is no agent"),
    ({"protocol": 3}, "3 is no protocol: give a name"),
]


@pytest.mark.parametrize(("given", "words"), EVALUATED, ids=str)
def test_an_evaluation_refuses_what_is_of_another_kind(given: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=f"^{words}"):
        evaluate(**{"agent": _north, "protocol": "dangerous-taxi-pickup/v1", "episodes": 1, **given})


def test_a_number_names_no_agent() -> None:
    with pytest.raises(UsageError, match=r"^3 is no agent's name"):
        load_agent(3)  # type: ignore[arg-type]


def test_a_wrong_name_is_answered_with_all_of_few_names_and_the_nearest_of_many() -> None:
    few, many = ("file", "line", "repository"), [f"name-{number}" for number in range(20)]
    for given, names, said in (
        ("folder", few, "file, line, repository"),
        ("lines", few, "line, file, repository"),
        ("nam-19", many, "name-19, name-9, name-1, the nearest of 20"),
        ("else", many, f"{', '.join(many[:8])} and 12 more"),
    ):
        with pytest.raises(UsageError) as refusal:
            require_choice("start", given, names)
        assert str(refusal.value) == f"unknown start '{given}': choose one of {said}"


class Lenient(Corridor):
    """Takes what it likes: whoever writes `**kwargs` answers for them."""

    def __init__(self, **kwargs: Any) -> None:
        self.colour = kwargs.pop("colour", "red")
        super().__init__(**kwargs)


def test_an_environment_that_takes_any_argument_takes_it() -> None:
    assert Lenient(colour="blue").colour == "blue"
    with pytest.raises(UsageError, match="unknown argument 'splt': choose one of split"):
        Corridor(splt="all")  # type: ignore[call-arg]


def test_arguments_in_their_order_still_pass() -> None:
    assert unwrap(Corridor("train", 4)).horizon == 4


def test_wrappers_that_making_by_id_would_leave_out_are_refused() -> None:
    """The agent and TRL's adapter play the environment alone; a limit was once forgotten in half of their steps."""
    with pytest.raises(UsageError, match=r"^max_episode_steps=3 is a wrapper, which is left out here: set horizon=3$"):
        make_env(TAXI, max_episode_steps=3)
    assert make_env(TAXI, max_episode_steps=-1).horizon == make_env(TAXI).horizon
    gymnasium.register("Mine/Scaled-v0", lambda: ScaleReward(Corridor()))
    with pytest.raises(UsageError, match=r"^Mine/Scaled-v0 is made with ScaleReward, which is left out here"):
        make_env("Mine/Scaled-v0")
