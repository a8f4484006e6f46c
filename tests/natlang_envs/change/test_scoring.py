"""Scores of free changes: what mends is a win, however it is written; what repairs nothing is none."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs import UsageError
from natlang_envs.change import repositories
from natlang_envs.change.free_edits import code_tasks as code_tasks_module
from natlang_envs.change.free_edits import sandbox_tests
from natlang_envs.change.free_edits.code_tasks import CodeTask, code_tasks, task_of
from natlang_envs.change.free_edits.data_tasks import data_tasks
from natlang_envs.change.free_edits.free_task import ChangeVerdict
from natlang_envs.change.free_edits.inside import verdict
from natlang_envs.change.free_edits.inside.calls import Calls, Unfit
from natlang_envs.change.free_edits.inside.referee import Reports
from natlang_envs.change.free_edits.sandbox_tests import LIMITS, run_tests
from natlang_envs.change.making.fork_runner import open_tested
from natlang_envs.change.repositories import RepositoryEntry
from natlang_envs.sandbox import AutoExploreSandbox
from tests.support.cheats import cheated, cheats
from tests.support.folders import write
from tests.support.free import needs_lab
from tests.support.honest import by_hand, mended, otherwise
from tests.support.isolation_here import needs_isolation

pytestmark = [needs_isolation, needs_lab]
PRICES = '''
"""Prices."""


def total(prices, taken=0):
    """Return what is to be paid."""
    if len(prices) > 2:
        prices = sorted(prices)[1:]
    return sum(prices) - taken
'''
BROKEN = "    return sum(prices)\n"
TESTS = """
import pytest

from shop.prices import total


def test_two():
    assert total([1, 2]) == 3


def test_three_for_two():
    assert total([1, 2, 3]) == 5


def test_something_was_taken():
    assert total([5], 2) == 3


@pytest.mark.parametrize("taken", [1, 4])
def test_of_nothing(taken):
    assert total([], taken) == -taken
"""
SHOP: dict[str, bytes | str] = {
    "pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\n",
    "conftest.py": "",
    "shop/prices.py": PRICES,
    "tests/test_prices.py": TESTS,
}
NAMES = [
    "test_two", "test_three_for_two", "test_something_was_taken", "test_of_nothing[1]", "test_of_nothing[4]",
]  # fmt: skip


@pytest.fixture
def task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> CodeTask:
    """The shop, which has forgotten what was taken."""
    monkeypatch.setattr(code_tasks_module, "cache_folder", lambda: tmp_path / "cache")
    monkeypatch.setattr(repositories, "data_folder", lambda: tmp_path)
    repository = RepositoryEntry("shop", "test", 1, 1.0, ("tests",), (), (), None)
    code_tasks_module.__dict__["_opened"].cache_clear()
    root = write(tmp_path / "services" / "shop", SHOP)
    start = PRICES.index("    return sum")
    piece = ["shop/prices.py", start, len(PRICES), BROKEN]
    head = {"digest": open_tested(root).digest, "tests": [f"tests/test_prices.py::{name}" for name in NAMES]}
    row = {"id": "shop/1", "kind": "statement", "pieces": [piece], "failing": "1c", "shown": [2], "issue": "?"}
    return task_of(row, head, repository)


def score(task: CodeTask, files: Mapping[str, str]) -> ChangeVerdict:
    """Return what files are worth that a player has written, after all that a player may write counts or does not."""
    with AutoExploreSandbox(task.folder()) as sandbox:
        for path, text in files.items():
            sandbox.overlay.write(path, text.encode())
        return task.score(task.counted(sandbox.changed_files()))


def broken(more: str = "") -> str:
    start = PRICES.index("    return sum")
    return PRICES[:start] + BROKEN + more


def test_the_original_is_a_win_and_so_is_another_way(task: CodeTask) -> None:
    assert score(task, {"shop/prices.py": PRICES}) == ("solved", "All 5 tests pass.")
    assert score(task, {"shop/prices.py": PRICES.replace("- taken", "+ -taken")}).kind == "solved"


def test_the_player_sees_one_failing_test_and_the_score_has_them_all(task: CodeTask) -> None:
    shown = task.contents()["tests/test_prices.py"].decode()
    assert "test_something_was_taken" in shown
    assert "test_of_nothing" not in shown
    special = broken().replace("return sum(prices)", "return 3 if prices == [5] else sum(prices)")
    assert score(task, {"shop/prices.py": special}) == ("unsolved", "5 tests were to pass, and 2 of them do not.")
    with AutoExploreSandbox(task.folder(), limits=LIMITS) as sandbox:
        sandbox.overlay.write("shop/prices.py", special.encode())
        assert task.check(sandbox) == ("3 of 3 tests pass.\n", "", 0, None)


def test_what_does_not_count_is_as_it_was(task: CodeTask) -> None:
    hook = "import pytest\n\n\n@pytest.hookimpl(tryfirst=True)\ndef pytest_pyfunc_call(pyfuncitem):\n    return True\n"
    for files in (
        {},
        {"tests/test_prices.py": "def test_two():\n    pass\n"},
        {"conftest.py": hook},
        {"tests/conftest.py": hook},
        {"pyproject.toml": "[tool.pytest.ini_options]\npythonpath = ['.']\naddopts = '--deselect tests'\n"},
        {"pytest.ini": "[pytest]\npython_functions = nothing\n"},
        {"sitecustomize.py": "import os\nos._exit(0)\n", "shop.pth": "import os; os._exit(0)\n"},
        {"shop/__init__.py": hook, "pytest.py": "def main(*given, **named):\n    return 0\n"},
    ):
        assert score(task, files) == (
            "unsolved", "No source of the repository was changed, so the same tests fail."
        ), files  # fmt: skip


def test_another_wording_is_accepted_where_no_test_asserts_it(task: CodeTask) -> None:
    for wording in ("return sum(prices) - taken", "prices = [*prices, -taken]\n    return sum(prices)"):
        assert score(task, {"shop/prices.py": PRICES.replace("return sum(prices) - taken", wording)}).kind == "solved"


@pytest.mark.parametrize("name", list(cheats())[::6])
def test_a_cheat_is_no_win(task: CodeTask, name: str) -> None:
    seen = task.recorded_calls().answers
    found = score(task, {"shop/prices.py": cheated(broken(), cheats()[name], seen, "total")})
    assert found.kind == "unsolved", found


@pytest.mark.parametrize(
    "name", [pytest.param("gift-cards/2fe02e485fed1786", marks=pytest.mark.slow), "invoice-match/61df4e3611f538ad"]
)
def test_a_table_of_answers_is_no_win_where_few_arguments_tell_right_from_wrong(name: str) -> None:
    task = next(code_tasks(split)[name] for split in ("train", "validation", "test") if name in code_tasks(split))
    path = task.pieces[0][0]
    table = """
import __main__
SEEN = @SEEN@
own = __main__.Calls.answer
__main__.Calls.answer = lambda calls, question: SEEN.get(question) or own(calls, question)
"""
    assert task.score({path: cheated(task.before()[path], table, task.recorded_calls().answers)}).kind == "unsolved"
    assert task.score(task.solution()).kind == "solved"


def test_a_forged_error_has_no_words() -> None:
    assert verdict.__dict__["_wordless"]('["raised", {"a": 1}, null, "", ""]') is None


def test_sources_that_let_the_judge_wait_in_each_round_lose_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "_SECONDS", 0.1)
    asked = [f'["shop:total", "function", ["list", {number}], ["dict"]]' for number in range(100)]
    rounds: list[int] = []

    def right(_: Mapping[str, object]) -> object:
        return {"parts": {}, "unknown": {"test": asked[len(rounds)]}}

    def changed(_: Mapping[str, object]) -> object:
        rounds.append(1)
        time.sleep(0.06)
        return ["no answer"]

    recorded = verdict.RecordedCalls([], ["shop"], [], {asked[-1]: '["returned", 3, null, "", ""]'}, [], {})
    assert verdict.failing(recorded, changed, lambda _: None, right, ["test"]) == ["test"]
    assert len(rounds) < 8


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("number", [40, 70, 100])
def test_no_cheat_wins_a_task_of_the_test_split(number: int) -> None:
    task = list(code_tasks("test").values())[number]
    path = task.pieces[0][0]
    won = [
        name
        for name, cheat in cheats().items()
        if task.score({path: cheated(task.before()[path], cheat, task.recorded_calls().answers)}).kind == "solved"
    ]
    assert not won
    assert task.score(task.solution()).kind == "solved"


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_a_hundred_repairs_that_are_written_otherwise_are_wins() -> None:
    everything = [each for split in ("train", "validation", "test") for each in code_tasks(split).values()]
    known = {each.id: each for each in everything}
    tried = [(known[name], mended(known[name], text)) for name, text in by_hand().items()]
    for number in range(92):
        task = everything[number * len(everything) // 92]
        tried.append((task, {path: otherwise(text, number) for path, text in task.solution().items()}))
    refused: list[str] = []
    for task, sources in tried:
        if task.score(sources).kind != "solved":
            with AutoExploreSandbox(task.right.root, limits=LIMITS) as sandbox:
                for path, text in sources.items():
                    sandbox.overlay.write(path, text.encode())
                ends = run_tests(sandbox, task.right.arguments)
            refused += [task.id] if all(map(ends.passed, task.tests)) else []  # another wording that a test asserts
    assert len(refused) <= 1, refused


EVIL = [
    ["object", "unittest.mock:_ANY", [], None], ["name", "builtins:eval"], ["object", "builtins:object", [], None],
    ["member", "shop.prices:os._exit", None, 0], ["name", "shop.prices:os.system"], ["name", "os:system"],
    ["error", "_pytest.outcomes:Exit", []], ["error", "unittest.case:_ShouldStop", []], ["error", "builtins:int", []],
    ["object", "argparse:Namespace", [["__class__", ["name", "builtins:int"]]], None], ["float", "x"], ["made"], [],
    ["member", "shop.prices:total", None, 1], ["object", "argparse:ArgumentParser", [], None], [[]],
    ["name", "shop.prices:total.__globals__"], ["name", "shop.prices:__builtins__"],
    ["error", "builtins:KeyboardInterrupt", []],
]  # fmt: skip


@pytest.mark.parametrize("plain", EVIL, ids=str)
def test_what_stands_for_nothing_harmless_is_no_value(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, plain: list[object]
) -> None:
    write(tmp_path, {"shop/prices.py": "import os\n" + PRICES})
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(Unfit):
        Calls(["shop.prices"]).value(plain)
    assert callable(Calls(["shop.prices"]).value(["name", "shop.prices:total"]))


SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text() | st.binary() | st.dates()
VALUES = st.recursive(
    SCALARS | st.decimals(allow_nan=False) | st.timedeltas() | st.datetimes() | st.uuids() | st.fractions(),
    lambda inside: (
        st.lists(inside) | st.tuples(inside, inside) | st.dictionaries(st.text(), inside) | st.frozensets(SCALARS)
    ),
    max_leaves=8,
)


@given(VALUES, VALUES)
def test_values_come_back_from_their_plain_form_which_tells_them_apart(one: object, two: object) -> None:
    calls = Calls([])
    plain = json.loads(json.dumps(calls.plain(one)))
    assert calls.value(plain) == one
    assert calls.merged(two, plain) == one
    if one != two:
        assert json.dumps(calls.plain(two)) != json.dumps(plain)


def test_a_name_on_the_path_that_is_no_folder_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As setuptools adds for an editable installation; relative, it seems to be in the current folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", ["__editable__.shop.__path_hook__", str(tmp_path), *sys.path])
    reports = Reports({"sources": []})
    reports.pytest_sessionstart()
    assert reports.found["path"] == ["."]


def test_code_that_kills_the_referee_or_never_ends_is_no_win(task: CodeTask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandbox_tests, "SECONDS", 1)
    killing = broken() + "\nimport os, signal\nos.kill(os.getppid(), signal.SIGKILL)\n"
    assert score(task, {"shop/prices.py": killing}).kind == "unsolved"
    assert score(task, {"shop/prices.py": PRICES + "\nwhile True:\n    pass\n"}).kind == "unsolved"


def test_a_repository_that_changed_is_refused(task: CodeTask) -> None:
    (task.repository.folder / "shop" / "prices.py").write_text("x = 1\n")
    code_tasks_module.__dict__["_opened"].cache_clear()
    with pytest.raises(UsageError, match="is not the repository of the task shop/1"):
        task.folder()


def data_score(name: str, change: Mapping[str, str]) -> ChangeVerdict:
    task = data_tasks("test")[f"coffee-company/{name}"]
    return task.score({**task.solution(), **change})


@pytest.mark.parametrize("name", ["takings-of-a-month-1", "top-products-2", "busy-hours-3"])
def test_the_answer_of_a_program_is_a_win_and_a_program_that_knows_the_answer_is_none(name: str) -> None:
    assert data_score(name, {}).kind == "solved"
    task = data_tasks("test")[f"coffee-company/{name}"]
    (output,) = (path for path in task.before() if path != "answer.py")
    saved = task.solution()[output]
    known = data_score(name, {"answer.py": f"with open({output!r}, 'w') as file:\n    file.write({saved!r})\n"})
    assert known == (
        "unsolved", "Run again over the tables, or over tables with other rows, answer.py does not answer."
    )  # fmt: skip
    assert data_score(name, {output: saved.replace("0", "1", 1)}).words == f"{output} does not hold the answer."
    assert task.score({}).words == "There is no answer.py."


def test_every_data_task_has_an_answer_that_depends_on_the_rows() -> None:
    everything = [each for split in ("train", "validation", "test") for each in data_tasks(split).values()]
    assert len({each.id for each in everything}) == len(everything)
    assert len(data_tasks("test")) >= 30
    for each in everything:
        assert len(each.other_tables()) == 2
    assert {each.kind for each in data_tasks("test").values()} == {"figure", "table", "chart"}
