"""Every form of an answer is read as it is meant, whatever is listed, and hostile text takes no time."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs.answers import Reading, read_answer, split_thought
from natlang_envs.answers.texts import parts_of
from natlang_envs.conformance.answer_forms import FORMS, NO_COMMAND, misread, rendered
from natlang_envs.prompt import LABELS
from tests.support.slow import slow_unless

TAXI = ("move south", "move north", "move east", "move west", "pick up passenger", "drop off passenger")
LISTED = {
    "taxi": TAXI,
    "ALFWorld": ("go to shelf 1", "go to shelf 10", "take apple 1 from table 1", "put apple 1 in/on fridge 1", "look"),
    "AutoExplore": (
        "cd docs",
        "cd docs_old",
        "cat README.md",
        "cat README",
        "id README.md",
        "cat a b.py",
        "id it's.txt",
        "cat [x].js",
        "cat 1. intro.md",
        "cat notes (old).txt",
        "next page",
        "cd ..",
        "exit",
    ),
    "edits": ("cd .", "cd ..", "edit line 3", "edit line 33", "undo", "test", "submit"),
}


@pytest.mark.parametrize("name", LISTED)
def test_every_form_of_the_kit_is_read_as_meant(name: str) -> None:
    assert misread(lambda answer, listed: read_answer(answer, listed).command, LISTED[name]) == []


@pytest.mark.parametrize(
    "said",
    [
        *(
            "B",
            "b",
            "(B)",
            "[B]",
            "b.",
            "B. move north",
            "B) move north",
            "Option B",
            "Action: B",
            "Choice: (B)",
            "**B**",
        ),
        *("\\boxed{B}", "The answer is B.", "I choose B", '{"action": "B"}', "<answer>B</answer>", "So:\nB"),
        "move north (B)",
    ],
)
def test_labels(said: str) -> None:
    assert read_answer(said, TAXI, labels=LABELS[:6]).command == "move north"
    assert said == "B. move north" or read_answer(said, TAXI).command in (None, "move north")


@pytest.mark.parametrize("said", ["G", "A or B", "A. move north", "not B", "A\nB", "Thought: B", "B or not B"])
def test_labels_that_choose_nothing(said: str) -> None:
    assert read_answer(said, TAXI, labels=LABELS[:6]).command is None


def test_a_number_is_a_label_only_where_it_is_shown() -> None:
    assert read_answer("2", TAXI).command is None
    assert read_answer("2.", TAXI, labels="123456").command == "move north"
    assert read_answer('{"choice": 2}', TAXI, labels="123456").command == "move north"


@pytest.mark.parametrize(
    ("said", "listed"),
    [
        ("cd ..", ("cd .", "exit")),
        ("cat notes (older).txt", ("cat notes",)),
        ("cat notes - the old ones.txt", ("cat notes",)),
        ("cat a.pyc", ("cat a.py", "cat a")),
        ("Action: cat docs/readme.md", ("cat docs",)),
        ("I will exit the folder src.", ("exit", "cd src")),
        ("Action: ls -la", ("ls",)),
        ("go to shelf 1 0", ("go to shelf 1", "go to shelf 10")),
        ("Action: move southwest", TAXI),
    ],
)
def test_what_only_looks_like_a_command_is_none(said: str, listed: tuple[str, ...]) -> None:
    assert read_answer(said, listed).command is None


def test_what_is_found_how_and_what_is_left() -> None:
    assert read_answer("Thought: near\nAction: move south", TAXI) == Reading("move south", "action", "near")
    assert read_answer("<think>so</think>move south", TAXI) == Reading("move south", "bare", "so")
    assert read_answer("Action: move south, then move east", TAXI).left_over == 1
    assert read_answer("Hm:\n```\nmove south\n```", TAXI) == Reading("move south", "fence", "Hm:")
    assert read_answer("move south or move north", TAXI).problem == "ambiguous"
    assert read_answer("Hello.", TAXI).problem == "no command"
    calls = [{"function": {"name": "act", "arguments": {"command": each}}} for each in TAXI[:2]]
    assert read_answer({"tool_calls": calls}, TAXI) == Reading("move south", "tool call", "", 1)


def test_a_thought_and_what_is_said() -> None:
    assert split_thought("<think>a</think> b")[:3] == ("a", "b", True)
    assert split_thought("a</think>b")[:3] == ("a", "b", True)
    assert split_thought("<think>a")[:3] == ("a", "", False)
    assert split_thought("<think>a</think>b<think>c</think>")[:3] == ("a\nc", "b", True)
    assert split_thought("echo '<think>' > x")[:3] == ("", "echo '<think>' > x", True)
    assert split_thought({"content": "b", "reasoning": "a"})[:3] == ("a", "b", True)


def test_an_answer_of_ten_kilobytes_takes_a_millisecond() -> None:
    thought = "The taxi is at row 1 and the wall is to the north of it, so that way is closed for now. "
    said = f"Thought: {thought * 110}\nAction: move south"
    assert len(said) > 9_500
    read_answer(said, TAXI)
    times: list[float] = []
    for _ in range(20):
        parts_of.cache_clear()
        begun = time.process_time()
        assert read_answer(said, TAXI).command == "move south"
        times.append(time.process_time() - begun)
    assert min(times) < 0.001


HOSTILE = [
    *("\0", "\u202e", "```\n", "<think>", "</think>", '{"a":', "[", "Action: ", "<action>", "(", "\n", "move south "),
    *("<plan>", "{'a':", "<|channel|>", "(a)", "Wait, ", "Observation: ", "\\boxed{", "$", "**", "not ", "A. "),
]


@pytest.mark.parametrize("megabytes", [1, pytest.param(10, marks=pytest.mark.slow)])
@pytest.mark.parametrize("piece", slow_unless(lambda number: number % 3 != 2, HOSTILE))
def test_megabytes_of_anything_take_time_by_their_length(piece: str, megabytes: int) -> None:
    text = piece * (megabytes * 1_000_000 // len(piece))
    begun = time.process_time()
    read_answer(text, TAXI)
    read_answer(f"<think>{text}</think>Action: move south", TAXI)
    read_answer(piece * (190_000 // len(piece)), TAXI)
    assert time.process_time() - begun < 0.8 * megabytes + 0.4


@given(st.text(alphabet="ab .:\n`'\"*<>{}[]()/\\_-0123Actionmovesuth\u200b\ue000\ue001", max_size=200))
def test_nothing_raises_and_what_is_read_is_listed(said: str) -> None:
    assert read_answer(said, TAXI).command in (None, *TAXI)


@given(st.sampled_from([*FORMS.values(), *NO_COMMAND.values()]), st.lists(st.text(min_size=1), min_size=2, unique=True))
def test_any_listed_commands_will_do(form: str, commands: list[str]) -> None:
    said = rendered(form, commands[0], commands[1])
    assert read_answer(said, commands).command in (None, *commands)
