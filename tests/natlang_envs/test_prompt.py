"""p(s): the task is never dropped, the newest steps are kept, the budget holds for any measure of length."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs.errors import UsageError
from natlang_envs.making import make_env
from natlang_envs.prompt import CUT, Choice, History, PathStep, Screen, policy_prompt, reflection_prompt, state_prompt
from tests import strategies

PATH = [PathStep("go north", "A hall."), PathStep("go east", "A kitchen."), PathStep("take the lamp", "Taken.")]
FULL = """\
Task: Light the lamp.
Previous path:
- go north: A hall.
- go east: A kitchen.
- take the lamp: Taken.
Observation: You are in the kitchen."""

# Measures of length that a longer text never shortens.
lengths = st.sampled_from(
    [len, lambda text: len(text.encode()), lambda text: len(text.split()), lambda text: -(-len(text) // 4)]
)


def prompt(history: History = "full", budget: int | None = None) -> str:
    return state_prompt("Light the lamp.", PATH, "You are in the kitchen.", history=history, budget=budget)


def test_a_prompt_reads_like_this() -> None:
    assert prompt() == FULL
    assert prompt(history="none") == prompt(history=0)
    assert prompt(history=0) == "Task: Light the lamp.\nPrevious path: none.\nObservation: You are in the kitchen."
    assert reflection_prompt("p(s)") == "p(s)\nReflection: "
    choices = [Choice("B", "go west"), Choice("A", "wait")]
    assert policy_prompt("p(s)", "Be quick.", choices) == (
        "p(s)\nActions:\nB. go west\nA. wait\nReflection: Be quick.\nChoice:\n"
    )
    assert policy_prompt("p(s)", None, choices) == "p(s)\nActions:\nB. go west\nA. wait\nChoice:\n"


@pytest.mark.parametrize("kept", [1, 2, 3, 10])
def test_a_number_keeps_that_many_newest_steps(kept: int) -> None:
    steps = [line for line in prompt(history=kept).splitlines() if line.startswith("- ")]
    assert steps == [f"- {step.action}: {step.feedback}" for step in PATH[-kept:]]


def test_the_oldest_steps_go_first_when_the_budget_is_short() -> None:
    shorter = prompt(budget=len(FULL) - 1)
    assert "go north" not in shorter
    assert "go east" in shorter
    assert "Observation: You are in the kitchen." in shorter


def test_then_the_observation_is_cut_and_says_so() -> None:
    budget = len(prompt(history=0)) - 1
    cut = prompt(budget=budget)
    assert cut.endswith(CUT)
    assert len(cut) == budget
    assert cut.startswith("Task: Light the lamp.\n")


@given(
    task=strategies.valid_text,
    path=strategies.path,
    observation=strategies.valid_text,
    history=strategies.history,
    budget=st.integers(0, 700),
    length=lengths,
)
def test_the_budget_holds(
    task: str,
    path: list[PathStep],
    observation: str,
    history: History,
    budget: int,
    length: Callable[[str], int],
) -> None:
    def compose(kept: int, shown: str) -> str:
        # The newest steps, so the composition that the prompt is compared with is not taken from it.
        return state_prompt(task, path, shown, history=kept)

    limit = len(path) if history == "full" else 0 if history == "none" else min(history, len(path))
    whole = [kept for kept in range(limit + 1) if length(compose(kept, observation)) <= budget]
    needed = length(compose(0, CUT))
    if not whole and needed > budget:
        with pytest.raises(UsageError, match=f"allow at least {needed}$"):
            state_prompt(task, path, observation, history=history, budget=budget, length=length)
        return
    text = state_prompt(task, path, observation, history=history, budget=budget, length=length)
    assert length(text) <= budget
    assert text.startswith(f"Task: {task}\n"), "the task is dropped"
    if whole:
        assert text == compose(max(whole), observation), "more of the newest steps would fit"
    else:
        cut = text.removeprefix(compose(0, ""))
        assert cut.endswith(CUT)
        kept = len(cut) - len(CUT)
        assert observation.startswith(cut[:kept])
        assert kept == len(observation) or length(compose(0, observation[: kept + 1] + CUT)) > budget


@pytest.mark.parametrize("wrong", ["all", -1, 1.5, None])
def test_a_wrong_history_is_named(wrong: History) -> None:
    with pytest.raises(UsageError, match="history must be 'full', 'none' or a number of steps"):
        prompt(history=wrong)


def test_a_budget_that_does_not_hold_the_task_is_named() -> None:
    with pytest.raises(UsageError, match="a prompt of 10 does not hold the task: allow at least"):
        prompt(budget=10)


@pytest.mark.parametrize(
    "id", ["NatLang/DangerousTaxi-v0", "NatLang/ALFWorld-v0", "NatLang/AutoExplore-v0", "NatLang/AutoExplore-Search-v0"]
)
@given(data=st.data())
def test_a_screen_of_changes_tells_every_part_once_it_is_new_and_every_feedback(id: str, data: st.DataObject) -> None:
    env = make_env(id, split="train", **({"dataset": "embedded"} if "AutoExplore" in id else {}))
    observation, info = env.reset(seed=data.draw(st.integers(0, 20)))
    whole, changes = Screen(observation, info), Screen(observation, info, changes_only=True)
    told, listed, ended = observation, info["admissible_commands"], False
    for _ in range(6):
        if ended:
            break
        observation, _, terminated, truncated, info = env.step(data.draw(st.sampled_from(info["admissible_commands"])))
        ended = terminated or truncated
        shown, full = changes.after(observation, info, ended), whole.after(observation, info, ended)
        told += f"\n{shown}"
        assert len(shown) <= len(full)
        assert observation in full
        assert info["feedback"] in shown
        assert all(part.strip() in told for part in observation.replace(". ", ".\n").split("\n"))
        assert ("Actions: " in shown) is (not ended and info["admissible_commands"] != listed)
        listed = info["admissible_commands"]
