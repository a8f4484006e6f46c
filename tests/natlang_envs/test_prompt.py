"""p(s): the task is never dropped, the newest steps are kept, the budget holds for any measure of length."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs.errors import UsageError
from natlang_envs.learners.wrappers import ChatMessages
from natlang_envs.make_env import make_env
from natlang_envs.prompt import CUT, Choice, History, PathStep, Screen, policy_prompt, reflection_prompt, state_prompt
from natlang_envs.repository.texts import contents, entered
from natlang_envs.two_player import aec_env
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


def told(path: Sequence[PathStep], observation: str, task: str = "Find it.", budget: int | None = None) -> str:
    return state_prompt(task, path, observation, history="commands", budget=budget)


def test_a_prompt_of_commands_says_what_was_done_and_shows_the_last_result_once() -> None:
    assert told([], "You see a lamp.\n\nFind it.") == "Task: Find it.\nCommands so far:\nObservation: You see a lamp."
    text = b"x" * 30
    parts = [PathStep("cat a.txt", contents("a.txt", text, 30, 10, number)) for number in range(2)]
    path = [PathStep("cd docs", entered("docs")), *parts, PathStep("cat b; c", contents("b; c", b"yes", 3, 10))]
    seen = f"# Task\nFind it.\n# Current folder\ndocs\n# Last result\n{path[-1].feedback}"
    assert told(path, seen) == (
        'Task: Find it.\nCommands so far: cd docs; cat a.txt; cat a.txt; "cat b; c"\n'
        "Read so far: docs/a.txt (parts 1 to 2); docs/b; c (whole)\n"
        "Observation: # Current folder\ndocs\n# Last result\nb; c reads:\nyes"
    )
    whole = PathStep("cat a.txt", contents("a.txt", text, 30, 10, 2))
    again = PathStep("cat a.txt", contents("a.txt", text, 30, 10, 3))
    assert "Read so far: docs/a.txt (whole)\n" in told([*path[:3], whole, again], "")
    shorter = told(path, "docs", budget=130)
    assert shorter.startswith("Task: Find it.\nCommands so far: …; ")
    assert shorter.endswith("\nObservation: docs")
    assert len(shorter) <= 130


def test_the_end_of_a_table_of_numbers_is_cut_and_where_it_stands_is_not() -> None:
    row = "2026-03-14,17,3.50\n"
    shown = contents("sales.csv", (row * 200).encode(), len(row) * 200, 2_000)
    text = told([PathStep("cat sales.csv", shown)], f"# Last result\n{shown}")
    assert shown.removesuffix("]") not in text
    head, _, place = text.rpartition(f"{CUT}\n")
    assert place == "[characters 1 to 2,000 of a file of 3,800 bytes; the same command shows the next part]"
    assert shown.startswith(head.partition("# Last result\n")[2])
    assert 800 < sum(each.isdigit() or each in ",-.\n" for each in head) < 1_020


@given(strategies.path, strategies.valid_text, strategies.path, strategies.valid_text, st.sampled_from(["; ", "\n"]))
def test_prompts_of_commands_differ_where_commands_or_observations_do(
    path: list[PathStep], seen: str, other: list[PathStep], also: str, between: str
) -> None:
    joined = [PathStep(between.join(step.action for step in path), "")]  # the same words in fewer commands
    for steps, shown in (
        (other, also),
        (path, also),
        (other, seen),
        (joined, seen),
        (joined, f"{seen}\nObservation: "),
    ):
        same = [step.action for step in steps] == [step.action for step in path] and shown == seen
        if path and steps and not same:  # a first observation leaves out the task that it ends with
            assert told(path, seen, "T") != told(steps, shown, "T")


@given(strategies.path, strategies.valid_text, st.integers(0, 700))
def test_the_budget_of_a_prompt_of_commands_holds(path: list[PathStep], observation: str, budget: int) -> None:
    least = (
        len(told(path, CUT, budget=10_000))
        if not path
        else len(f"Task: Find it.\nCommands so far: …\nObservation: {CUT}")
    )
    if budget < least:
        with pytest.raises(UsageError, match=f"allow at least {least}$"):
            told(path, observation, budget=budget)
    else:
        assert len(told(path, observation, budget=budget)) <= budget


@pytest.mark.parametrize("id", ["NatLang/DangerousTaxi-v0", "NatLang/ALFWorld-v0", "NatLang/AutoExplore-v0"])
@given(data=st.data())
def test_a_prompt_of_commands_begins_as_the_one_before_it_and_tells_states_apart(id: str, data: st.DataObject) -> None:
    env = make_env(id, split="train", **({"dataset": "embedded"} if "AutoExplore" in id else {}))
    states: dict[str, object] = {}
    seed = data.draw(st.integers(0, 3))
    for _ in range(2):
        observation, info = env.reset(seed=seed)
        path: list[PathStep] = []
        prompt, ended = told(path, observation, info["task"]), False
        while not ended and len(path) < 6:
            assert states.setdefault(prompt, env.snapshot()) == env.snapshot()
            command = data.draw(st.sampled_from(info["admissible_commands"]))
            observation, _, ended, _, info = env.step(command)
            path.append(PathStep(command, info["feedback"]))
            before = re.split("\n(?:Read so far|Last result|Observation): ", prompt)[0]
            prompt = told(path, observation, info["task"])
            assert prompt.startswith(before)
            assert observation.removeprefix(f"# Task\n{info['task']}\n") in prompt
            assert prompt.count(info["task"]) == 1


def test_a_prompt_of_commands_shows_the_last_result_where_the_observation_does_not() -> None:
    path = [PathStep("move east", "The taxi moved east."), PathStep("move north", "A wall is there.")]
    assert told(path, "The taxi is at row 2.").endswith(
        "Commands so far: move east; move north\nLast result: A wall is there.\nObservation: The taxi is at row 2."
    )


def test_players_and_chat_models_can_be_shown_prompts_of_commands() -> None:
    two = aec_env("NatLang/DangerousTaxi-v0", history="commands")
    two.reset(seed=0)
    two.step("Go on.")
    two.step(0)
    chat = ChatMessages(make_env("NatLang/DangerousTaxi-v0"), history="commands")
    _, info = chat.reset(seed=0)
    messages, *_ = chat.step(info["admissible_commands"][0])
    assert chat.observation_space.contains(messages)
    for text in (two.observe("reflector_0")["text"], messages[1]["content"]):
        assert f"\nCommands so far: {info['admissible_commands'][0]}\n" in text
        assert "Previous path" not in text


@pytest.mark.parametrize("wrong", ["all", -1, 1.5, None])
def test_a_wrong_history_is_named(wrong: History) -> None:
    with pytest.raises(UsageError, match="history must be 'full', 'none', 'commands' or a number of steps"):
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
