"""ChangeFree as an environment: commands, what an entry records and how it is played again, and a model that plays."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import Any, cast

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs import UsageError, record, unwrap
from natlang_envs.change.free_edits.agents import CopilotAgent, copilot_agent
from natlang_envs.change.free_edits.code_tasks import CodeTask, code_tasks
from natlang_envs.change.free_edits.env import AutoExploreChangeFreeEnv
from natlang_envs.change.free_edits.patching import commands, patched
from natlang_envs.change.free_edits.task_sampling import FreeTasks, free_tasks
from natlang_envs.change.free_edits.test_files import functions_in, without
from natlang_envs.change.repositories import data_folder
from natlang_envs.conformance import CHECKS, Case, Check, NotApplicable
from natlang_envs.evaluation import evaluate
from natlang_envs.evaluation.protocols import Episode, Protocol
from natlang_envs.evaluation.runs import read_run
from natlang_envs.repository.mutations import apply
from natlang_envs.trajectory import difference, replay
from tests.support import chat_server
from tests.support.free import needs_lab
from tests.support.isolation_here import needs_isolation
from tools.change.make_free_tasks import BODY, OPERATORS, removals

ID = "NatLang/AutoExplore-ChangeFree-v0"
SERVICES = data_folder() / "services"
SOURCE = '''
def price(cups, member):
    """Return the price."""
    if cups < 0:
        raise ValueError(cups)
    total = 0
    for number in range(cups):
        total += 3
        if number == 1:
            total -= 1
        elif number == 2:
            total += 1
        else:
            total += 0
    if member:
        total -= 2
    return total
'''


def free(horizon: int = 40) -> AutoExploreChangeFreeEnv:
    return cast("AutoExploreChangeFreeEnv", unwrap(gymnasium.make(ID, split="validation", horizon=horizon)))


def begin(env: AutoExploreChangeFreeEnv, about: str = "code") -> str:
    task = next(each for each in free_tasks("validation").values() if each.about == about)
    env.reset(seed=0, options={"task_id": task.id})
    return task.id


def test_removals_leave_python_and_one_thing_less() -> None:
    found = removals(SOURCE)
    assert {each.operator for each in found} == set(OPERATORS)
    left = {apply(SOURCE, each) for each in found}
    assert len(left) == len(found)
    for text in left:
        ast.parse(text)
    assert any("if cups" not in each and "total = 0" in each for each in left)  # a guard
    assert any("    total -= 2\n    return" in each and "if member" not in each for each in left)  # a condition
    assert any("elif" not in each and "number == 1" in each for each in left)
    (body,) = (each for each in found if each.operator == BODY)
    assert apply(SOURCE, body).endswith('"""Return the price."""\n    raise NotImplementedError\n')


@pytest.mark.parametrize("name", ["gift-cards", "recipe-book", "roast-plan"])
def test_tests_can_be_taken_out(name: str) -> None:
    for path in sorted((SERVICES / name / "tests").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        names = [name for name, *_ in functions_in(text)]
        assert [name for name, *_ in functions_in(without(text, names[1::2]))] == names[::2]


@pytest.mark.slow
def test_every_code_task_is_of_its_repository_and_tells_no_place() -> None:
    everything = [each for split in ("train", "validation", "test") for each in code_tasks(split).values()]
    assert len({each.id for each in everything}) == len(everything)
    for task in everything:
        assert task.right.digest == task.digest
        assert 2 <= len(task.failing) < len(task.tests)
        assert set(task.shown) <= task.failing
        assert task.shown
        files = task.contents()
        for file, name in task.hidden:
            assert f"def {name.rpartition('::')[2]}(" not in files[file].decode()
        for file, _, _, _ in task.pieces:
            assert file not in task.issue
    kinds = [each.kind for each in everything]
    assert kinds.count("body") <= len(kinds) / 5


TEXTS = st.text(st.sampled_from('ab\n\r"\\é\u2028\0😀 '), max_size=60)


@given(TEXTS, TEXTS, st.booleans())
def test_a_patch_leads_from_any_text_to_any_other(before: str, after: str, long: bool) -> None:
    after = after * 300 if long else after
    texts = {"a.py": before, "b.py": ""}
    found = commands(texts, {"a.py": after} if after != before else {})
    assert all(len(each) <= 4_096 for each in found)
    for each in found:
        word, _, rest = each.partition(" ")
        step = patched(texts, rest)
        assert word == "patch"
        assert isinstance(step, tuple), step
        texts[step[0]] = step[1]
    assert texts["a.py"] == after


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("", "write patch"), ("[]", "write patch"), ('["a.py", 0, true, ""]', "write patch"), ("[" * 9_999, "write"),
        ('["c.py", 0, 0, ""]', "c.py is no file that counts: one of a.py"),
        ('["a.py", 0, 9, ""]', "a.py has 3 characters, not places 0 to 9"), ('["a.py", 2, 1, ""]', "not places 2 to 1"),
        ('["a.py", 0, 0, "\\ud800"]', "half a character"),
    ],
)  # fmt: skip
def test_what_is_no_patch_is_told(said: str, words: str) -> None:
    found = patched({"a.py": "abc"}, said)
    assert isinstance(found, str)
    assert words in found


def test_splits_hold_what_they_say() -> None:
    with pytest.raises(UsageError, match="unknown split"):
        FreeTasks("tset")
    task = next(iter(free_tasks("test")))
    with pytest.raises(UsageError, match="is in the split 'test', not 'train'"):
        FreeTasks("train").check(task)
    with pytest.raises(UsageError, match="unknown task"):
        FreeTasks("train").check("gift-cards/0")
    assert AutoExploreChangeFreeEnv.task_kinds(task)["Task"] == "code"
    with pytest.raises(UsageError, match="unknown argument 'unsafe'"):
        gymnasium.make(ID, unsafe=True)


def _check(check: Check) -> Any:
    """Return a check, as slow where it starts many sandboxes."""
    many = ("instances_are_independent", "async_equals_sync", "same_episodes_in_another_process", "infos_are_complete")
    many += ("same_seed_same_episodes", "snapshots_restore_in_another_process")
    many += ("samples_are_admissible", "plans_succeed", "snapshots_change_nothing", "steps_have_builtin_types")
    slow = check.__name__.startswith("vector_") or check.__name__ in many
    return pytest.param(check, marks=pytest.mark.slow if slow else ())


@needs_isolation
@needs_lab
@pytest.mark.parametrize("check", [*map(_check, CHECKS)], ids=lambda check: check.__name__)
def test_the_environment_conforms(check: Check) -> None:
    case = Case(ID, {"split": "validation", "horizon": 5})
    if check.__name__ == "oracle_is_exact":
        with pytest.raises(NotApplicable, match="no exact oracle"):
            check(case)
    else:
        check(case)


@needs_isolation
@needs_lab
def test_a_person_edits_runs_and_tests_and_the_patch_is_recorded() -> None:
    env = free()
    begin(env)
    task = cast("CodeTask", FreeTasks("all").load(str(env.snapshot().task_id)))
    file, start, end, _ = task.pieces[0]
    whole = task.right.sources[file]
    said = {}
    for action in (
        "test",
        "Let me see.\n\nAction: pwd",
        "test now",
        "\0",
        "x" * 4_096,
        "python -c 'import time; print(time.time())'",
    ):
        said[action] = env.step(action)[4]["feedback"]
    assert "fails:" in said["test"]
    assert "tests pass." in said["test"]
    assert "/opt/lab" not in said["test"]
    assert said["test now"] == "test: takes no arguments\n[exit code 2]"
    code = f"import pathlib; p = pathlib.Path({file!r}); p.write_text(pathlib.Path('mended').read_text())"
    for piece in (whole[:1_800], whole[1_800:3_600], whole[3_600:]):
        shown = piece.removesuffix("\n").replace("'", "'\"'\"'")
        env.step(f"echo '{shown}' >> mended" if piece.endswith("\n") else f"echo -n '{shown}' >> mended")
    env.step(f'python -c "{code}"')
    assert env.step("test")[4]["feedback"].endswith("tests pass.")
    observation, reward, terminated, _, info = env.step("exit")
    assert (reward, terminated, info["success"]) == (15.0, True, True)
    assert observation.endswith(f"# Verdict\nAll {len(task.tests)} tests pass.")
    *patch, last = env.recorded_actions()
    assert last == "exit"
    assert json.loads(patch[0].removeprefix("patch "))[0] == file
    del start, end


@needs_isolation
@needs_lab
def test_an_entry_holds_the_patch_and_plays_again(tmp_path: Path) -> None:
    task = next(each.id for each in free_tasks("validation").values() if each.about == "data")
    protocol = Protocol("try/v1", ID, {"split": "validation"}, 40, 1, (Episode(task, 3),), "One.")
    env = record(protocol, tmp_path / "run", name="me")
    env.reset()
    plan = unwrap(env).reference()
    for action in ("ls", "python -c 'import time; print(time.time())'", "echo 'x' > not-counted", *plan):
        env.step(action)
    (played,) = read_run(tmp_path / "run")[1]
    assert played.actions == tuple(plan)
    assert played.reflections == (None,) * len(plan)
    assert played.success
    assert difference(played, replay(protocol.make_env(), played)) is None


@needs_isolation
@needs_lab
def test_the_last_step_is_scored_as_it_stands_and_what_cannot_be_recorded_is_not() -> None:
    env = free(horizon=3)
    begin(env, "data")
    env.step("echo 'x' > answer.py")
    env.step("ls")
    _, reward, terminated, truncated, info = env.step("ls")
    assert (reward, terminated, truncated) == (-15.0, True, False)
    assert info["feedback"].startswith("There is no answer.")
    assert env.recorded_actions() == ['patch ["answer.py", 0, 0, "x\\n"]', "exit"]
    begin(env, "data")
    env.step("python -c \"open('answer.py', 'w').write('#' * 20_000)\"")
    assert "do not fit into the 3 steps" in env.step("exit")[4]["feedback"]
    assert env.recorded_actions() == ["exit"]


@needs_isolation
@needs_lab
def test_a_model_behind_an_endpoint_plays_through_the_copilot(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UsageError, match="write --agent copilot:MODEL"):
        copilot_agent("")
    env = free()
    task = begin(env)
    answers = iter(["I look first.\n\nAction: ls", "```\ntest\n```", *env.reference()])
    with chat_server.serve(lambda prompt: next(answers)) as chat:
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        monkeypatch.setenv("OPENAI_API_KEY", "x")
        protocol = Protocol("try/v1", ID, {"split": "validation"}, 40, 1, (Episode(task, 3),), "One.")
        evaluate(CopilotAgent("m"), protocol, out=tmp_path / "run", name="model")
    run, (played,) = read_run(tmp_path / "run")
    assert played.success
    assert run.tokens == 107 * len(chat.requests)
    assert "- test checks what you have so far" in chat.requests[0].system
    assert "# Task" in chat.requests[0].prompt
    assert "tests pass." in chat.requests[2].prompt
