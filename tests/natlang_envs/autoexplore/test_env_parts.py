"""Long files are shown in parts: `cat`, given again, shows the next one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import gymnasium
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs.autoexplore.baselines import DepthFirstSearch
from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.repository.texts import bytes_shown, contents
from natlang_envs.two_player import aec_env
from tests.support.explore_games import begun, own
from tests.support.folders import write
from tests.support.transcript import transcript

ID = "NatLang/AutoExplore-v0"
FILES = {"long": "abcdefghij" * 2 + "xyz", "short": "brief", "exact": "0123456789", "binary": b"a\0b" * 10, "empty": ""}


def seen(env: AutoExploreEnv, name: str) -> str:
    return env.step(f"cat {name}")[4]["feedback"]


def folder(tmp_path: Path, **kwargs: int) -> AutoExploreEnv:
    return own(write(tmp_path, FILES), "long", file_budget=10, **kwargs)


def test_cat_again_shows_the_next_part_and_after_the_last_the_first(tmp_path: Path) -> None:
    env = folder(tmp_path)
    more = "the same command shows the next part"
    first = f"long begins:\nabcdefghij\n[characters 1 to 10 of a file of 23 bytes; {more}]"
    assert seen(env, "long") == first
    assert seen(env, "short") == seen(env, "short") == "short reads:\nbrief"
    assert seen(env, "long") == f"long goes on:\nabcdefghij\n[characters 11 to 20 of a file of 23 bytes; {more}]"
    end = "this is the end, the same command shows the beginning"
    assert seen(env, "long") == f"long goes on:\nxyz\n[characters 21 to 23 of a file of 23 bytes; {end}]"
    assert seen(env, "long") == first
    assert env.files_read == ("long", "short")
    for name in ("exact", "binary", "empty"):
        assert seen(env, name) == seen(env, name)
        assert "same command" not in seen(env, name)


def test_parts_list_no_further_command_and_change_no_plan(tmp_path: Path) -> None:
    env = folder(tmp_path)
    commands, plan = env.action_space.commands, env.oracle()
    for _ in range(4):
        seen(env, "long")
        assert (env.action_space.commands, env.oracle()) == (commands, plan)
    assert env.demonstration() == plan, "a part was read already"


def test_a_snapshot_holds_which_part_comes_next(tmp_path: Path) -> None:
    env = folder(tmp_path)
    seen(env, "long")
    saved = env.snapshot()
    second = seen(env, "long")
    assert seen(env, "long") != second
    env.restore(saved)
    assert seen(env, "long") == second
    other = folder(tmp_path / "copy")
    other.restore(json.loads(json.dumps(saved)))
    assert seen(other, "long") == second


def test_every_form_shows_parts(tmp_path: Path) -> None:
    single = folder(tmp_path)
    expected = [seen(single, "long") for _ in range(4)]
    kwargs = {"repository": str(tmp_path), "question": "Where is it?", "target": "long", "file_budget": 10}
    vector = gymnasium.make_vec(ID, num_envs=2, **kwargs)
    vector.reset(seed=0)
    steps = [vector.step(("cat long", "cat exact"))[4]["feedback"] for _ in range(4)]
    assert [each[0] for each in steps] == expected
    assert len({each[1] for each in steps}) == 1
    game = aec_env(ID, **kwargs)
    game.reset(seed=0)
    for number in range(3):
        game.step("I read it.")
        game.step(single.action_space.commands.index("cat long"))
        assert expected[number] in game.observe("reflector_0")["text"]


def test_a_search_that_reads_each_file_once_still_finds_it(tmp_path: Path) -> None:
    write(tmp_path, {"a/x": "far from it " * 20, "a/b/y": "silver whistle " * 20})
    env = own(tmp_path, "a/b/y", file_budget=30, horizon=30)
    search, done, info = DepthFirstSearch("Silver whistle?"), False, {}
    while not done:
        command = search.choose(env.action_space.commands, env.steps_left)
        _, _, done, _, info = env.step(command)
        search.saw(command, info["feedback"])
    assert info["success"]


@given(content=st.binary(max_size=60) | st.text(max_size=30).map(str.encode), budget=st.integers(1, 9))
def test_the_parts_are_the_whole_file(content: bytes, budget: int) -> None:
    whole = content.decode("utf-8", "backslashreplace")
    if b"\0" in content or not content:
        assert len({contents("f", content, len(content), budget, number) for number in range(3)}) == 1
        return
    parts = -(-len(whole) // budget)
    shown = [
        contents("f", content[: bytes_shown(budget * (number + 1))], len(content), budget, number)
        for number in range(parts + 1)
    ]
    bodies = [each.partition(":\n")[2].rpartition("\n[characters")[0] for each in shown]
    if parts == 1:
        assert shown[0] == shown[1] == f"f reads:\n{whole}"
    else:
        assert "".join(bodies[:parts]) == whole
        assert shown[parts] == shown[0]


def test_a_long_file_is_read_no_further_than_its_part(tmp_path: Path) -> None:
    env = own(write(tmp_path, {"huge": "é" * 3_000_000}), "huge", horizon=30)
    read: list[int] = []
    repository = env.repository
    original = repository.part
    repository.part = lambda path, start, length: read.append(length) or original(path, start, length)  # type: ignore[method-assign]
    for _ in range(14):
        assert "é" * 2_000 in seen(env, "huge")
    assert max(read) <= 4 * (14 * 2_000 + 1)


def test_golden_transcript_of_a_long_file(golden: Callable[[str, str], None]) -> None:
    env = begun("ferry-line/06", file_budget=120)
    plays = (env.demonstration(), ["cat README.md"] * 4, ["exit"])
    golden("AutoExplore-v0-parts.txt", "\n".join([ID, *transcript(env, "ferry-line/06", plays)]) + "\n")
