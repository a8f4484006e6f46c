"""Exported games: what the alfworld package reads, the same game as here, and nothing overwritten."""

from __future__ import annotations

import json
import subprocess
from importlib.util import find_spec
from pathlib import Path

import gymnasium
import pytest

from natlang_envs import unwrap
from natlang_envs.alfworld.engine.game import GRAMMARS, read_game_file
from natlang_envs.alfworld.games.generator import EXAMPLE, aim_of, generate, parse_task_id
from natlang_envs.alfworld.textworld.export import GAME, TRAJECTORY, export_game, folder_of
from natlang_envs.errors import UsageError
from tests.support.alfworld_real import needs_package
from tests.support.here import run_here

LAMP = "generated/unseen/look_at_obj_in_light/308/004"


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_here("natlang", "alfworld", "export", *arguments)


@needs_package
@pytest.mark.parametrize("grammar", GRAMMARS)
@pytest.mark.parametrize("task_id", [EXAMPLE, LAMP])
def test_an_exported_game_is_read_back_the_same(tmp_path: Path, task_id: str, grammar: str) -> None:
    text = generate(task_id, grammar)
    path = export_game(text, tmp_path / folder_of(task_id))
    assert path.relative_to(tmp_path) == folder_of(task_id) / GAME
    assert read_game_file(path) == text
    content = json.loads(path.read_bytes())
    assert content["solvable"] is True
    assert "(define (domain alfred)" in content["pddl_domain"]


@needs_package
@pytest.mark.parametrize("task_id", [EXAMPLE, LAMP])
def test_the_package_is_told_what_its_expert_asks_for(tmp_path: Path, task_id: str) -> None:
    export_game(generate(task_id), tmp_path / "trial")
    told = json.loads((tmp_path / "trial" / TRAJECTORY).read_bytes())
    aim = aim_of(parse_task_id(task_id))
    target, lamp = ("", aim.target_type) if task_id == LAMP else (aim.target_type, "")
    assert told["task_type"] == aim.task_type
    assert told["pddl_params"] == {
        "object_target": aim.object_type,
        "parent_target": target,
        "toggle_target": lamp,
        "mrecep_target": "",
        "object_sliced": False,
    }
    assert told["turk_annotations"]["anns"][0]["task_desc"] in generate(task_id).task


@needs_package
@pytest.mark.parametrize("there", [GAME, TRAJECTORY])
def test_nothing_is_overwritten_unless_asked_for(tmp_path: Path, there: str) -> None:
    (tmp_path / there).write_text("mine", encoding="utf-8")
    with pytest.raises(UsageError, match="is there already"):
        export_game(generate(EXAMPLE), tmp_path)
    assert [each.name for each in tmp_path.iterdir()] == [there]
    assert (tmp_path / there).read_text(encoding="utf-8") == "mine"
    export_game(generate(EXAMPLE), tmp_path, overwrite=True)
    assert read_game_file(tmp_path / GAME) == generate(EXAMPLE)


@needs_package
def test_the_command_writes_the_packages_layout(tmp_path: Path) -> None:
    done = run(str(tmp_path), EXAMPLE, LAMP, "--grammar", "0.4.2")
    assert (done.returncode, done.stderr) == (0, "")
    assert [read_game_file(Path(line)) for line in done.stdout.splitlines()] == [
        generate(EXAMPLE, "0.4.2"),
        generate(LAMP, "0.4.2"),
    ]


def test_the_command_says_in_one_line_what_is_wrong(tmp_path: Path) -> None:
    done = run(str(tmp_path / "new"), "nonsense")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("natlang: unknown task 'nonsense'")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "new").exists()


@pytest.mark.skipif(find_spec("alfworld") is not None, reason="the alfworld package is installed")
def test_without_the_package_one_line_says_so(tmp_path: Path) -> None:
    with pytest.raises(
        UsageError, match=r"^alfworld cannot be imported: .*`pip install --no-deps alfworld==0\.4\.2`[^\n]*$"
    ):
        export_game(generate(EXAMPLE), tmp_path / "new")
    assert not (tmp_path / "new").exists()


@needs_package
def test_an_exported_folder_is_played_here_in_synthetic_rooms_too(tmp_path: Path) -> None:
    ids = (EXAMPLE, LAMP, "mixed/pick_two_obj_and_place/220/951", "mixed/look_at_obj_in_light/301/007")
    done = run(str(tmp_path), *ids, "--grammar", "0.4.2")
    assert (done.returncode, done.stderr) == (0, "")
    theirs = unwrap(gymnasium.make("NatLang/ALFWorld-v0", source="folder", folder=str(tmp_path)))
    paths = [Path(line).parent.relative_to(tmp_path) for line in done.stdout.splitlines()]
    assert sorted(theirs.tasks.ids()) == sorted(f"folder/{path}" for path in paths)
    for task_id, path in zip(ids, paths, strict=True):
        source = task_id.partition("/")[0]
        ours = unwrap(gymnasium.make("NatLang/ALFWorld-v0", source=source, grammar="0.4.2"))
        first, info = ours.reset(options={"task_id": task_id})
        same, there = theirs.reset(options={"task_id": f"folder/{path}"})
        assert (first, info["admissible_commands"]) == (same, there["admissible_commands"])
        for command in ours.reference():
            assert ours.step(command)[:4] == theirs.step(command)[:4]
    assert paths[2].name == "trial_mixed_951"
