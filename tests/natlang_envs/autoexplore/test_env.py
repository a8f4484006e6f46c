"""AutoExplore: its rules, its commands and pages, its words, its plans, and what it makes of a user's own folder."""

from __future__ import annotations

import json
import os
import shutil
from collections import deque
from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs import NatLangEnv, UsageError, unwrap
from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.autoexplore.words import LAST_STEP, read_steps_left
from natlang_envs.conformance import CHECKS, Case, NotApplicable
from tests import strategies

IDS = tuple(f"NatLang/AutoExplore{name}-v0" for name in ("", "-Depth1", "-Depth2"))
TASK = "ferry-line/07"  # the target is boat/engine/oil.md


def make(env_id: str = IDS[0], **kwargs: Any) -> AutoExploreEnv:
    env = unwrap(gymnasium.make(env_id, **kwargs))
    assert isinstance(env, AutoExploreEnv)
    return env


def begun(task_id: str = TASK, **kwargs: Any) -> AutoExploreEnv:
    env = make(**kwargs)
    env.reset(seed=0, options={"task_id": task_id})
    return env


def own(folder: Path, target: str | list[str], **kwargs: Any) -> AutoExploreEnv:
    env = make(repository=str(folder), question="Where is it?", target=target, **kwargs)
    env.reset(seed=0)
    return env


def write(folder: Path, files: dict[str, bytes | str]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def section(observation: str, heading: str) -> list[str]:
    """Return the lines below a heading of an observation, up to the next heading."""
    lines = observation.partition(f"# {heading}\n")[2].split("\n")
    end = next((number for number, line in enumerate(lines) if line.startswith("# ")), len(lines))
    return lines[:end]


# Rules and rewards.


@pytest.mark.parametrize(
    ("commands", "reward", "success"),
    [
        (["cd boat", "cd engine", "id oil.md"], 15.0, True),
        (["cd boat", "cd engine", "cat oil.md", "id oil.md"], 15.0, True),
        (["id fares.csv"], -15.0, False),
        (["cd boat", "id checks.sh"], -15.0, False),
        (["exit"], -15.0, False),
        (["cd boat", "cd ..", "exit"], -15.0, False),
    ],
)
def test_the_last_command_pays_and_the_others_cost_one(commands: list[str], reward: float, success: bool) -> None:
    env = begun()
    steps = [env.step(command) for command in commands]
    assert [each[1] for each in steps] == [-1.0] * (len(steps) - 1) + [reward]
    assert [each[2] for each in steps] == [False] * (len(steps) - 1) + [True]
    assert not any(each[3] for each in steps)
    assert steps[-1][4]["success"] is success


@pytest.mark.parametrize(
    ("last", "reward", "success"), [("cd boat", -15.0, False), ("nonsense", -15.0, False), ("id fares.csv", 15.0, True)]
)
def test_the_fifteenth_step_terminates(last: str, reward: float, success: bool) -> None:
    env = begun("ferry-line/01")  # the target is fares.csv
    for step in range(14):
        observation, paid, *ends, _ = env.step("cat README.md")
        assert (paid, ends) == (-1.0, [False, False])
        assert section(observation, "Steps left") == [str(14 - step)]
        assert read_steps_left(observation) == 14 - step
    observation, paid, terminated, truncated, info = env.step(last)
    assert (paid, terminated, truncated, info["success"]) == (reward, True, False, success)
    assert (LAST_STEP in info["feedback"]) is not success
    assert section(observation, "Steps left") == ["0"]


@pytest.mark.parametrize("text", ["", "ls", "cat", "cat boat/checks.sh", "CD boat", " cd boat", "cd boat\n", "cd .."])
def test_any_other_text_costs_a_step_and_does_nothing(text: str) -> None:
    env = begun()
    before = env.snapshot().state
    _, reward, terminated, _, info = env.step(text)
    assert (reward, terminated, env.snapshot().state) == (-1.0, False, before)
    assert info["feedback"].endswith("is not one of the listed commands: nothing was done.")


@given(text=strategies.any_text)
def test_any_words_get_an_answer(text: str) -> None:
    env = begun()
    observation, reward, terminated, _, info = env.step(text)
    assert observation in env.observation_space
    assert info["feedback"]
    assert terminated is (text in ("exit", "id README.md", "id fares.csv"))
    assert reward == (-15.0 if terminated else -1.0)


def test_any_of_several_targets_is_right_and_the_nearest_is_planned() -> None:
    for target in ("summer.csv", "winter.csv"):
        env = begun("ferry-line/11")
        env.step("cd timetable")
        assert env.step(f"id {target}")[4]["success"]
    env = begun("ferry-line/11")
    assert env.oracle() == ["cd timetable", "id summer.csv"]


def test_safe_commands_never_lose() -> None:
    env = begun()
    for command in ("cd boat", "cd engine"):
        safe = env.safe_commands()
        assert "exit" not in safe
        assert not any(each.startswith("id ") for each in safe)
        env.step(command)
    assert "id oil.md" in env.safe_commands()


# Commands and pages.


def test_the_commands_stand_in_the_documented_order(tmp_path: Path) -> None:
    env = own(write(tmp_path, {"b/x": "", "a/y": "", "Z": "", "c.txt": "", "b/d/z": ""}), "Z")
    root = ("cd a", "cd b", "cat Z", "id Z", "cat c.txt", "id c.txt", "exit")
    assert env.action_space.commands == root
    env.step("cd b")
    assert env.action_space.commands == ("cd d", "cd ..", "cat x", "id x", "exit")


@pytest.mark.parametrize(
    ("folders", "files", "pages"),
    [(0, 1, 1), (0, 18, 1), (0, 19, 2), (35, 1, 2), (36, 0, 1), (36, 1, 2), (37, 18, 3), (34, 1, 1), (90, 200, 14)],
)
def test_long_folders_have_pages(tmp_path: Path, folders: int, files: int, pages: int) -> None:
    names = {f"long/f{number:03}": "" for number in range(files)}
    names |= {f"long/d{number:03}/x": "" for number in range(folders)}
    env = own(write(tmp_path, names), next(iter(names)), horizon=100)
    env.step("cd long")
    seen: list[str] = []
    for page in range(pages):
        commands = env.action_space.commands
        assert len(commands) <= env.max_commands == 40
        assert ("next page" in commands, "previous page" in commands) == (page + 1 < pages, page > 0)
        text = env.snapshot().observation
        assert section(text, "Page") == ([f"{page + 1} of {pages}"] if pages > 1 else [""])
        listed = [*section(text, "Folders here"), *section(text, "Files here")]
        seen += [name for name in listed if name != "(none)"]
        if page + 1 < pages:
            env.step("next page")
    listed = sorted(path.name for path in (tmp_path / "long").iterdir())
    assert seen == listed  # `d…` before `f…`
    for page in range(pages - 1, 0, -1):
        assert section(env.snapshot().observation, "Page") == [f"{page + 1} of {pages}"]
        env.step("previous page")


def fewest_steps(env: NatLangEnv) -> int:
    """Breadth-first search over nothing but steps and snapshots."""
    start = env.snapshot()
    queue, seen = deque([(start, 0)]), {start.state[:2]}
    while queue:
        here, steps = queue.popleft()
        env.restore(here)
        for command in env.action_space.commands:
            env.restore(here._replace(steps=0))
            _, _, terminated, _, info = env.step(command)
            if info["success"]:
                env.restore(start)
                return steps + 1
            there = env.snapshot()
            if not terminated and there.state[:2] not in seen:
                seen.add(there.state[:2])
                queue.append((there, steps + 1))
    raise AssertionError("no way")


def test_the_oracle_is_as_short_as_a_search_over_steps(tmp_path: Path) -> None:
    names = {f"a/{number:02}.txt": "" for number in range(100)}  # six pages
    names |= {"a/in/x": "", "a/in/y": "", "b/c/deep/z": "", "top": ""}
    write(tmp_path, names)
    for target in ("a/01.txt", "a/99.txt", "a/in/x", "b/c/deep/z", "top", ["top", "a/50.txt"]):
        env = own(tmp_path, target, horizon=100)
        for wander in ([], ["cd a"], ["cd a", *["next page"] * 2], ["cd a", *["next page"] * 5], ["cd b", "cd c"]):
            env.reset()
            for command in wander:
                env.step(command)
            plan = env.oracle()
            assert len(plan) == fewest_steps(env), (target, wander, plan)
            assert [env.step(command)[4]["success"] for command in plan] == [False] * (len(plan) - 1) + [True]
            assert env.oracle() == []


def test_a_demonstration_reads_the_evidence_first() -> None:
    env = begun()
    plan = env.demonstration()
    assert plan == ["cd boat", "cd engine", "cat oil.md", "id oil.md"]
    for number, command in enumerate(plan):
        assert env.demonstration() == plan[number:]
        env.step(command)
    assert env.demonstration() == []
    assert env.files_read == ("boat/engine/oil.md",)
    assert begun(horizon=3).demonstration() == begun(horizon=3).oracle()
    assert begun(horizon=4).demonstration() == plan


# Files.


def shown(env: AutoExploreEnv, name: str) -> str:
    return env.step(f"cat {name}")[4]["feedback"]


def test_contents_of_every_kind(tmp_path: Path) -> None:
    files = {
        "text": "one\ntwo\n",
        "exact": "x" * 50,
        "long": "ä" * 51,
        "empty": "",
        "latin": "caf\xe9".encode("latin-1"),
        "binary": b"PNG\0\1\2",
        "huge": b"y" * 3_000_000,
        "cut-in-a-letter": "x" * 49 + "€uro",
    }
    env = own(write(tmp_path, files), "text", file_budget=50, horizon=100)
    assert shown(env, "text") == "text reads:\none\ntwo\n"
    assert shown(env, "exact") == "exact reads:\n" + "x" * 50
    assert shown(env, "long") == f"long begins:\n{'ä' * 50}\n[cut: the first 50 characters of a file of 102 bytes]"
    assert shown(env, "empty") == "empty is empty."
    assert shown(env, "latin") == "latin reads:\ncaf\\xe9"
    assert shown(env, "binary") == "binary is a binary file of 6 bytes and is not shown."
    assert (
        shown(env, "huge") == f"huge begins:\n{'y' * 50}\n[cut: the first 50 characters of a file of 3,000,000 bytes]"
    )
    assert shown(env, "cut-in-a-letter").startswith(f"cut-in-a-letter begins:\n{'x' * 49}€\n[cut")


def test_odd_names_and_what_is_hidden(tmp_path: Path) -> None:
    names = ["with space", "new\nline", "bidi\u202eexe.txt", "-rf", "..."]
    write(tmp_path, {"home/" + name: name for name in names})
    (tmp_path / "home" / os.fsdecode(b"bytes\xff")).write_bytes(b"raw")
    write(
        tmp_path, {"outside": "secret", "home/.git/config": "hidden", "home/module/.git": "gitdir: x", "home/.env": ""}
    )
    (tmp_path / "home" / "nothing").mkdir()
    (tmp_path / "home" / "link").symlink_to(tmp_path / "outside")
    (tmp_path / "home" / "up").symlink_to(tmp_path)
    os.mkfifo(tmp_path / "home" / "pipe")
    env = own(tmp_path / "home", "with space", horizon=100)
    observation = env.snapshot().observation
    files = section(observation, "Files here")
    assert section(observation, "Folders here") == ["module", "nothing"]
    assert sorted(files) == files
    assert set(files) == {
        "with space", "new\\x0aline", "bidi\\xe2\\x80\\xaeexe.txt", "-rf", "...", "bytes\\xff", ".env"
    }  # fmt: skip
    assert shown(env, "new\\x0aline").endswith("reads:\nnew\nline")
    assert shown(env, "bytes\\xff").endswith("raw")
    for folder in ("module", "nothing"):
        observation = env.step(f"cd {folder}")[0]
        assert section(observation, "Files here") == section(observation, "Folders here") == ["(none)"]
        assert env.action_space.commands == ("cd ..", "exit")
        env.step("cd ..")
    for name in ("link", "pipe", "../outside", ".git/config", "up/outside"):
        assert "not one of the listed commands" in shown(env, name)


def test_the_longest_observation_is_in_the_space(tmp_path: Path) -> None:
    folder = "/".join([os.fsdecode(b"\xff" * 255)] * 3)
    write(tmp_path, {f"{folder}/{os.fsdecode(bytes([254]) * 253)}{number:02}": "x" * 5_000 for number in range(18)})
    env = own(tmp_path, "/".join(["\\xff" * 255] * 3 + ["\\xfe" * 253 + "00"]))
    for command in env.demonstration():
        observation, *_, info = env.step(command)
        assert observation in env.observation_space
        assert all(each in env.action_space for each in info["admissible_commands"])
    assert info["success"]


def test_an_original_that_changes_is_named_and_read_anew(tmp_path: Path) -> None:
    env = own(write(tmp_path, {"a": "first", "b": "second"}), "a")
    (tmp_path / "b").write_text("another content", encoding="utf-8")
    with pytest.raises(UsageError, match=r"b of .* changed since it was indexed") as caught:
        env.step("cat b")
    assert "\n" not in str(caught.value)
    env.reset()
    assert shown(env, "b") == "b reads:\nanother content"


# A folder of the user's own.


def test_the_id_of_an_own_question_does_not_depend_on_where_the_folder_is(tmp_path: Path) -> None:
    write(tmp_path / "one", {"docs/a": "x", "b": "y"})
    shutil.copytree(tmp_path / "one", tmp_path / "elsewhere")
    texts = []
    for folder in ("one", "elsewhere"):
        env = make(repository=str(tmp_path / folder), question="  Where\nis it? ", target=["b", "./docs//a"])
        observation, info = env.reset(seed=0)
        assert list(env.tasks.ids()) == [info["task_id"]]
        texts.append((observation, sorted(info.items())))
        everything = json.dumps([observation, info, env.snapshot()])
        assert str(tmp_path) not in everything
        assert folder not in everything
    assert texts[0] == texts[1]
    assert dict(texts[0][1])["task_id"].startswith("own/")
    assert own(tmp_path / "one", "b").snapshot().task_id != own(tmp_path / "one", "docs/a").snapshot().task_id


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_an_own_folder_conforms(tmp_path: Path, check: Callable[[Case], None]) -> None:
    names = {f"many/{number:02}.txt": f"number {number}" for number in range(40)}
    write(tmp_path, {**names, "docs/guide/a.md": "here", "b": b"\0", "new\nline": "odd"})
    kwargs = {"repository": str(tmp_path), "question": "Where?", "target": ["docs/guide/a.md"]}
    if check.__name__ == "splits_are_disjoint":
        with pytest.raises(UsageError, match="has no split 'train': leave split out"):
            make(**kwargs, split="train")
    elif check.__name__ == "different_seeds_differ":
        with pytest.raises(NotApplicable, match="one task only"):
            check(Case(IDS[0], kwargs))
    else:
        check(Case(IDS[2], kwargs))


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"repository": "/no/such/folder"}, "does not exist: give an existing folder"),
        ({"repository": "FILE"}, "is a file: give a folder"),
        ({"repository": "EMPTY"}, "holds no readable file"),
        ({"repository": ""}, "is no path"),
        ({"repository": None}, "needs all three of repository, question and target"),
        ({"question": None}, "needs all three of repository, question and target"),
        ({"target": None}, "needs all three of repository, question and target"),
        ({"question": " \n"}, "question is empty"),
        ({"question": 3}, "question must be a str"),
        ({"question": "x" * 2_001}, "question has 2,001 characters: use at most 2,000"),
        ({"target": "../FILE"}, "may lie outside the repository: write it relative to"),
        ({"target": "/etc/passwd"}, "may lie outside the repository: write it relative to"),
        ({"target": "docs/b.md"}, "choose one of docs/a.md"),
        ({"target": "docs"}, "is a folder: name a file in it"),
        ({"target": []}, "target is empty"),
        ({"target": ["docs/a.md", ""]}, "is a folder: name a file in it"),
        ({"target": [3]}, "target must be a path or a list of paths, not 3"),
        ({"depth": 2}, "has depth 1: use NatLang/AutoExplore-Depth1-v0 or NatLang/AutoExplore-v0"),
        ({"depth": 3}, "unknown depth 3: choose one of 1, 2, or None for any"),
        ({"split": "test"}, "has no split 'test': leave split out"),
        ({"split": "tset"}, "unknown split 'tset'"),
        ({"horizon": 0}, "horizon must be a whole number"),
        ({"file_budget": 0}, "file_budget must be a whole number of at least 1"),
        ({"render_mode": "ansi"}, "unknown render_mode 'ansi'"),
    ],
)
def test_wrong_arguments_are_named_in_one_line(tmp_path: Path, changed: dict[str, Any], words: str) -> None:
    write(tmp_path, {"home/docs/a.md": "x", "FILE": "x", "EMPTY/.git/x": ""})
    places = {"FILE": str(tmp_path / "FILE"), "EMPTY": str(tmp_path / "EMPTY")}
    given = {"repository": str(tmp_path / "home"), "question": "Where?", "target": "docs/a.md", **changed}
    given["repository"] = places.get(given["repository"], given["repository"])
    with pytest.raises(UsageError) as caught:
        AutoExploreEnv(**given)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_snapshot_of_another_folder_is_refused(tmp_path: Path) -> None:
    one = own(write(tmp_path / "one", {"a": "", "deep/b": ""}), "a")
    other = own(write(tmp_path / "other", {"a": ""}), "a")
    one.step("cd deep")
    with pytest.raises(UsageError, match="page 0 of the folder 'deep' is not in this repository"):
        other.restore(one.snapshot())


@given(st.data())
def test_a_snapshot_restores_what_was_read(data: st.DataObject) -> None:
    env = begun("tide-station/08", horizon=10)
    for _ in range(data.draw(st.integers(0, 9))):
        env.step(data.draw(st.sampled_from(env.safe_commands())))
        if env.oracle() == []:
            break
    saved, read, plan = env.snapshot(), env.files_read, env.demonstration()
    env.reset()
    env.restore(json.loads(json.dumps(saved)))
    assert (env.files_read, env.demonstration(), env.snapshot()) == (read, plan, saved)


# Recorded games.


@pytest.mark.parametrize("env_id", IDS)
def test_golden_transcripts(env_id: str, golden: Callable[[str, str], None]) -> None:
    """A demonstration, a wrong file and unknown words: every character that a player sees."""
    task_id = {"": "ferry-line/06", "-Depth1": "bike-workshop/01", "-Depth2": "pottery-studio/09"}[
        env_id.removeprefix("NatLang/AutoExplore").removesuffix("-v0")
    ]
    env = begun(task_id, env_id=env_id)
    lines = [env_id]
    for commands in (env.demonstration(), ["cat README.md", "look around", "id README.md"], ["exit"]):
        observation, info = env.reset(seed=0, options={"task_id": task_id})
        lines += ["", f"task: {info['task']} ({info['task_id']})", observation]
        for command in commands:
            lines.append(f"commands: {' | '.join(info['admissible_commands'])}")
            observation, reward, terminated, truncated, info = env.step(command)
            end = "terminated" if terminated else "truncated" if truncated else "goes on"
            lines += [f"> {command}", observation, f"{reward} {end} {info['success']}"]
    golden(f"{env_id.removeprefix('NatLang/')}.txt", "\n".join(lines) + "\n")
