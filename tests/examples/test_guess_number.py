"""The environment of `docs/new_environment.md` keeps every promise, in every form, and fits on a page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import pettingzoo
import pytest

from examples import guess_number
from examples.guess_number import GuessNumberEnv
from natlang_envs import NatLangEnv, UsageError
from natlang_envs.conformance import CHECKS, Case, Check
from natlang_envs.env import Outcome
from natlang_envs.episodes import EpisodesVectorEnv
from natlang_envs.vector import NatLangVectorEnv
from tests.support.slow import slow_processes

ENV_ID = "Example/GuessNumber-v0"


@pytest.mark.parametrize("check", slow_processes(CHECKS), ids=lambda check: check.__name__)
def test_it_passes_every_check(check: Check) -> None:
    # A hidden number: every first observation is the same, and `up-to-20/1` is a task beside `up-to-20/12`.
    check(Case(f"examples.guess_number:{ENV_ID}"))


def test_one_call_registers_all_its_forms() -> None:
    single = gymnasium.make(ENV_ID)
    assert single.reset(options={"task_id": "up-to-20/12"})[0].endswith("You have 6 guesses.")
    many = gymnasium.make_vec(ENV_ID, 3, vectorization_mode="vector_entry_point", highest=9)
    assert isinstance(many, EpisodesVectorEnv)
    assert many.reset(seed=0)[1]["admissible_commands"][2][-1] == "guess 9"
    if hasattr(pettingzoo, "make"):  # since 1.27
        assert pettingzoo.make("aec", ENV_ID).possible_agents == ["reflector_0", "policy_0"]


def test_it_is_one_file_of_a_hundred_lines() -> None:
    assert len(Path(guess_number.__file__).read_text(encoding="utf-8").splitlines()) <= 100


class Listing(GuessNumberEnv):
    """Gives a list where a tuple is wanted."""

    def _admissible_commands(self) -> Any:
        return list(super()._admissible_commands())


class Dancing(GuessNumberEnv):
    def _admissible_commands(self) -> tuple[str, ...]:
        return (*super()._admissible_commands(), "dance")


class Keeping(GuessNumberEnv):
    def _get_state(self) -> Any:
        return {"steps": 1}


class Half(NatLangEnv):
    """Has but one of its hooks."""

    family = "half"

    def _act(self, command: str) -> Outcome:
        return Outcome(command, 0.0)


class HalfVector(NatLangVectorEnv):
    """Has none of its hooks."""


def test_slips_of_an_author_are_named_where_they_happen() -> None:
    assert type(Listing().reset(seed=0)[1]["admissible_commands"]) is tuple
    many = EpisodesVectorEnv(Listing(), 2)
    assert type(many.reset(seed=0)[1]["admissible_commands"][1]) is tuple
    for env in (Dancing(), EpisodesVectorEnv(Dancing(), 2)):
        with pytest.raises(UsageError, match=r"^Dancing lists 21 commands, and its max_commands is 20"):
            env.reset(seed=0)
    kept = Keeping()
    kept.reset(seed=0)
    with pytest.raises(UsageError, match=r"^Keeping._get_state gave {'steps': 1}: give a tuple of JSON values$"):
        kept.snapshot()
    with pytest.raises(UsageError, match=r"^Half has no _admissible_commands, _begin, .*task: write these hooks"):
        Half()
    with pytest.raises(UsageError, match=r"^HalfVector has no _act, _admissible_commands, .*see NatLangVectorEnv$"):
        HalfVector(Listing(), 2)
