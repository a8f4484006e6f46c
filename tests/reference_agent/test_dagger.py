"""DAgger: the reflector plays, the teacher says what it would have done, the reflector learns that too."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path

import pytest

from natlang_envs.errors import UsageError
from reference_agent import sft
from reference_agent.agent import ReflectRLAgent
from reference_agent.card import read_card
from reference_agent.collect import CARD, EXAMPLES, read_examples
from reference_agent.config import Config
from reference_agent.config_file import load_config
from reference_agent.dagger import correct
from reference_agent.pipeline import last_reflector, train
from reference_agent.players import Reflector
from tests.reference_agent.conftest import quick_config
from tests.reference_agent.test_training import crash_and_resume, same, silent

DAGGER = ("dagger.trajectories=3", "dagger.steps=4")


class Speaker(Reflector):
    """Says the same of every state."""

    def __init__(self, said: str) -> None:
        self.said = said
        self.asked: list[str] = []

    def reflect(self, states: Sequence[str]) -> list[str]:
        """Return what it always says."""
        self.asked += states
        return [self.said] * len(states)


def household() -> Config:
    """Return settings of ALFWorld's six task types."""
    return load_config(Path("alfworld/best"), ["dagger.trajectories=3", "collect.detours=0.0"])


def test_who_names_no_command_does_the_teachers() -> None:
    reflector = Speaker("I do not know.")
    said: list[tuple[str, int, int, float]] = []
    examples, card = correct(household(), reflector, lambda *each: said.append(each))
    assert said[-1] == ("corrections", 3, 3, 1.0), "the teacher wins all three"
    assert [
        each.state for each in sorted(examples, key=lambda each: reflector.asked.index(each.state))
    ] == reflector.asked
    assert card.negative == 0
    assert card.positive == card.examples == len(examples)
    assert [each["success"] for each in card.trajectories] == [True] * 3
    assert all(each.action in each.reflection for each in examples)


def test_what_it_names_is_done_and_the_teacher_says_what_to_do_then() -> None:
    config = household()
    examples, card = correct(config, Speaker("I look."), lambda *_: None)
    assert [each["success"] for each in card.trajectories] == [False] * 3
    assert [each["steps"] for each in card.trajectories] == [50] * 3, "it only ever looks"
    assert all(each.state.count("\n- look") == min(step, config.history) for step, each in enumerate(examples[:50]))
    assert {each.action for each in examples} != {"look"}
    assert [each.trajectory for each in examples] == [number for number in range(3) for _ in range(50)]


def test_a_step_that_makes_the_way_longer_is_a_mistake() -> None:
    config = quick_config(*DAGGER)
    examples, card = correct(config, Speaker("move north, move south"), lambda *_: None)
    assert card.negative == sum(each.negative for each in examples) > 0
    for before, after in pairwise(examples):
        if after.negative:
            assert before.trajectory == after.trajectory
            assert before.action != "move south", "what the teacher would have done is no mistake"


def test_a_run_with_a_second_lesson_resumes_to_the_same_and_plays_by_it(
    out: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sft, "SECONDS", 0.0)
    config = quick_config(*DAGGER, stages=(1,))
    whole = out.with_name("whole")
    train(config, whole, silent)
    assert read_card(whole / "corrections" / CARD).examples == len(read_examples(whole / "corrections" / EXAMPLES))
    assert not same(whole / "reflector", whole / "reflector-corrected")
    for stage, step in (("corrections", 3), ("corrected", 2)):
        folder = out.with_name(f"crash-{stage}")
        crash_and_resume(config, folder, stage, step)
        assert same(whole / "reflector-corrected", folder / "reflector-corrected")
        assert same(whole / "policy", folder / "policy")
    assert last_reflector(config) == "reflector-corrected"
    assert last_reflector(quick_config()) == "reflector"
    ReflectRLAgent(whole)
    (whole / "reflector-corrected").rename(whole / "elsewhere")
    with pytest.raises(UsageError, match="reflector-corrected"):
        ReflectRLAgent(whole)


@pytest.mark.parametrize("setting", ["players='one'", "collect.teacher='openai'"])
def test_it_needs_a_reflector_of_its_own_and_an_oracle(setting: str) -> None:
    with pytest.raises(UsageError, match=r"set dagger\.trajectories = 0"):
        quick_config(*DAGGER, setting, "collect.model='x'")
