"""AutoExplore: what is shown of files, and what it makes of a user's own folder."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs import UsageError
from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.conformance import CHECKS, Case, NotApplicable
from tests.support.explore_games import IDS, begun, make, own, section
from tests.support.folders import write
from tests.support.slow import slow_processes

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
    shown_next = "the same command shows the next part]"
    assert shown(env, "long") == f"long begins:\n{'ä' * 50}\n[characters 1 to 50 of a file of 102 bytes; {shown_next}"
    assert shown(env, "empty") == "empty is empty."
    assert shown(env, "latin") == "latin reads:\ncaf\\xe9"
    assert shown(env, "binary") == "binary is a binary file of 6 bytes and is not shown."
    assert (
        shown(env, "huge")
        == f"huge begins:\n{'y' * 50}\n[characters 1 to 50 of a file of 3,000,000 bytes; {shown_next}"
    )
    assert shown(env, "cut-in-a-letter").startswith(f"cut-in-a-letter begins:\n{'x' * 49}€\n[characters 1 to 50")


def test_a_name_with_white_space_at_its_end_is_a_listed_command_and_taken_as_it_stands(tmp_path: Path) -> None:
    write(tmp_path, {"notes": "without", "notes ": "with", "alone ": "by itself"})
    env = own(tmp_path, "notes")
    assert {"cat notes", "cat notes ", "cat alone "} <= set(env.action_space.commands)
    assert shown(env, "notes ").endswith("with")
    assert shown(env, "notes").endswith("without")
    assert shown(env, "notes\n").endswith("without")
    assert "not one of the listed commands" in shown(env, "alone")


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
    for folder, target in (("one", "./docs//a"), ("elsewhere", Path("docs/a"))):
        env = make(repository=str(tmp_path / folder), question="  Where\nis it? ", target=["b", target])
        observation, info = env.reset(seed=0)
        assert list(env.tasks.ids()) == [info["task_id"]]
        texts.append((observation, sorted(info.items())))
        everything = json.dumps([observation, info, env.snapshot()])
        assert str(tmp_path) not in everything
        assert folder not in everything
    assert texts[0] == texts[1]
    assert dict(texts[0][1])["task_id"].startswith("own/")
    assert own(tmp_path / "one", "b").snapshot().task_id != own(tmp_path / "one", "docs/a").snapshot().task_id


@pytest.mark.parametrize("check", slow_processes(CHECKS), ids=lambda check: check.__name__)
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
        ({"wording": "hard"}, "a question of your own has no hard wording: leave wording out"),
        ({"depth": 2}, "has depth 1: use NatLang/AutoExplore-Depth1-v0 or NatLang/AutoExplore-v0"),
        ({"depth": 3}, "unknown depth 3: choose one of 1, 2, or None for any"),
        ({"split": "test"}, "has no split 'test': leave split out"),
        ({"split": "tset"}, "unknown split 'tset'"),
        ({"horizon": 0}, "horizon must be a whole number"),
        ({"file_budget": 0}, "file_budget must be a whole number of at least 1"),
        ({"render_mode": "human"}, "unknown render_mode 'human'"),
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
