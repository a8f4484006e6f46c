"""Questions made from files by rules."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from natlang_envs.autoexplore.dataset.labels import read_labels
from natlang_envs.autoexplore.dataset.made_questions import asked_about, made_labels, ways
from natlang_envs.autoexplore.dataset.own_labels import shortest_path
from natlang_envs.cli.labels import labels_app
from natlang_envs.repository.navigation import navigation_of
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_envs.repository.tree import open_repository

GUIDE = "# Opening the locks\n\nTurn the wheel slowly until the water is level.\n" + "Filler says nothing new. \n" * 200
CODE = '''class LockKeeper:
    """Keeps the gates of one lock."""

    # Two boats never pass each other here.
    def open_gate(self, boat):
        return self.gates[boat.side].swing(outwards=True)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    root = tmp_path / "canal"
    (root / "src").mkdir(parents=True)
    (root / "guide.md").write_text(GUIDE + "The upper pond is dredged in March of every year.\n")
    (root / "src" / "keeper.py").write_text(CODE)
    (root / "水門.txt").write_text("水門は毎年三月に点検されます。船は一列で待ちます。\n")
    (root / "photo.bin").write_bytes(b"\0\1\2" * 100)
    return root


def test_headings_definitions_comments_and_lines_are_asked_about(folder: Path):
    asked = {label.question: label for label in made_labels(open_repository(folder))}
    assert asked["What is said about Opening the locks?"].targets == ("guide.md",)
    assert "What does LockKeeper (lock keeper): Keeps the gates of one lock do?" in asked
    assert asked["Where is this done: Two boats never pass each other here?"].kind == "code"
    assert any(label.targets == ("水門.txt",) for label in asked.values())
    assert not any("photo.bin" in label.targets for label in asked.values())


def test_each_label_carries_the_part_that_shows_its_evidence_and_is_won_by_its_way(folder: Path):
    repository = open_repository(folder)
    labels = made_labels(repository)
    assert max(label.part for label in labels) == 3
    for label in labels:
        shown = navigation_of(repository, FILE_BUDGET).text(label.evidence[0].path, label.part - 1)
        assert label.evidence[0].text in shown
        assert label.path == shortest_path(repository, label.targets)


def test_the_command_writes_labels_that_are_played_and_writes_the_same_again(folder: Path, tmp_path: Path):
    files = [tmp_path / name for name in ("one.jsonl", "two.jsonl")]
    for out in files:
        result = CliRunner().invoke(labels_app, ["questions", "--repo", str(folder), "--out", str(out)])
        assert result.exit_code == 0, result.output
    assert files[0].read_bytes() == files[1].read_bytes()
    label = read_labels(files[0])[0]
    env = gymnasium.make("NatLang/AutoExplore-v0", dataset=str(files[0]), repository=str(folder))
    env.reset(seed=0, options={"task_id": label.id})
    for command in label.path:
        *_, info = env.step(command)
    assert info["success"]


def test_a_limit_is_shared_by_the_files_and_what_every_file_says_is_left_out(tmp_path: Path):
    for number in range(30):
        text = f"The same licence line stands everywhere here.\n\nBoat number {number} carries coal to town.\n"
        (tmp_path / f"boat{number}.txt").write_text(text)
    repository = open_repository(tmp_path)
    labels = made_labels(repository)
    assert not any("Where is" in label.question or len(label.targets) > 3 for label in labels)
    assert {path for label in labels for path in label.targets} == set(repository.files)
    assert len(made_labels(repository, limit=30)) == 30


def test_what_lies_beyond_the_horizon_is_left_out(tmp_path: Path):
    deep = tmp_path.joinpath(*"abcdefghijklmnopq")
    deep.mkdir(parents=True)
    (deep / "far.txt").write_text("Nobody comes here in time to read this.\n")
    (tmp_path / "near.txt").write_text("Everybody reads this at the very beginning.\n")
    assert [path for path, _ in ways(open_repository(tmp_path))] == ["near.txt"]


@pytest.mark.parametrize("content", [b"\0\1", b"", b"1 2 3\n"])
def test_a_folder_without_a_line_of_text_is_one_line(tmp_path: Path, content: bytes):
    (tmp_path / "only").write_bytes(content)
    with pytest.raises(Exception, match="holds no line of text to ask about") as error:
        CliRunner().invoke(
            labels_app, ["questions", "--repo", str(tmp_path), "--out", "out.jsonl"], catch_exceptions=False
        )
    assert "\n" not in str(error.value)


@given(st.text(st.characters(codec="utf-8"), max_size=300), st.integers(1, 6))
def test_any_text_is_asked_about(text: str, each: int):
    asked = asked_about("a.txt", text, each)
    assert len(asked) <= each
    assert asked == asked_about("a.txt", text, each)
    assert len({one.question for one in asked}) == len(asked)
    for one in asked:
        assert one.question == " ".join(one.question.split())
        assert one.evidence in text
        assert (one.part - 1) * FILE_BUDGET < len(text)
