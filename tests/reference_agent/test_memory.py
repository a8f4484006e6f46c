"""The memory of names: what it counts, its file, and how it is learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from natlang_envs.autoexplore.dataset.made_questions import made_labels
from natlang_envs.errors import UsageError
from natlang_envs.repository.tree import open_repository
from natlang_envs.repository.walk import PagePosition
from reference_agent.families.autoexplore.memory.learning import count, held_out, remember
from reference_agent.memory.names import Known, NameMemory, words_asked
from reference_agent.memory.plan import recognise
from reference_agent.run.command import app

FILLER = "Boats wait in the basin until the keeper calls them by their number.\n" * 40


@pytest.fixture(scope="module")
def canal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("canal") / "canal"
    (root / "docs" / "ponds").mkdir(parents=True)
    (root / "README.md").write_text("# The canal\n\nEverything about locks and ponds of this canal.\n")
    (root / "docs" / "locks.md").write_text(
        "# Locks\n\n" + FILLER + "The wheel of the upper gate is greased with tallow.\n"
    )
    (root / "docs" / "ponds" / "upper.md").write_text("# Upper pond\n\nIt is dredged in March of every second year.\n")
    (root / "docs" / "empty.md").write_text("")
    (root / "photo.jpg").write_bytes(b"\0\1" * 40)
    return root


@pytest.fixture(scope="module")
def memory(canal: Path) -> NameMemory:
    return remember(count({"canal": canal}), [], {"canal": canal}, "questions")


def test_a_question_recalls_the_file_and_the_part_that_speaks_of_it(memory: NameMemory):
    first, *_ = memory.recall(0, "When is the pond dredged?")
    assert (first.path, first.part) == ("docs/ponds/upper.md", 1)
    first, *_ = memory.recall(0, "What greases the wheel of the gate?")
    assert (first.path, first.part) == ("docs/locks.md", 2)
    assert {each.path for each in memory.recall(0, "anything")} == {"README.md", "docs/locks.md", "docs/ponds/upper.md"}
    assert len(memory.recall(0, "When is the pond dredged?", 2)) == 2


def test_training_questions_are_remembered(canal: Path):
    folders = {"canal": canal}
    label = next(each for each in made_labels(open_repository(canal)) if each.targets == ("docs/ponds/upper.md",))
    asked = type(label)(**{**vars(label), "question": "How often does the excavator visit?", "part": 0})
    counted = count(folders)
    before, after = (remember(counted, told, folders, "questions") for told in ([], [asked] * 3))
    question = "Does an excavator visit?"
    assert before.recall(0, question)[0].path != "docs/ponds/upper.md"
    assert after.recall(0, question)[0].path == "docs/ponds/upper.md"
    assert [each.questions for each in held_out(counted, [asked], folders, 2)] == [1, 1]


def test_a_file_of_it_is_made_again_to_the_byte_and_read_as_it_was(memory: NameMemory, canal: Path, tmp_path: Path):
    for name in ("one", "two"):
        remember(count({"canal": canal}), [], {"canal": canal}, "questions").write(tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    read = NameMemory.read(tmp_path / "one")
    assert read.counts.dtype == np.uint8
    for question in ("Who calls the boats?", "dredged", ""):
        assert read.recall(0, question) == memory.recall(0, question)


@pytest.mark.parametrize("content", [b"", b"{}", b"\x08\0\0\0\0\0\0\0{}      "])
def test_what_holds_no_memory_is_one_line(tmp_path: Path, content: bytes):
    (tmp_path / "file").write_bytes(content)
    with pytest.raises(UsageError, match="holds no memory of names: name a file of `reflect-rl remember`"):
        NameMemory.read(tmp_path / "file")


def test_a_repository_is_recognised_by_what_it_lists(memory: NameMemory):
    twins = [Known(name, ("README.md", f"src/{name}/a.py", "tests/a.py"), (1, 1, 1)) for name in ("one", "two")]
    known = [*memory.known, *twins]
    top = ["cd docs", "cat README.md", "id README.md", "cat new.txt", "exit"]
    assert recognise(known, {PagePosition(): top}, float) == 0
    assert recognise(known, {PagePosition(): ["cd lib", "cd test", "cat README.rst"]}, float) is None
    top = ["cd src", "cd tests", "cat README.md"]
    assert [recognise(known, {PagePosition(): top}, belief) for belief in (float, lambda number: -number)] == [2, 1]
    assert recognise(known, {PagePosition(): top, PagePosition(("src",)): ["cd one", "cd .."]}, float) == 1


def test_the_command_learns_from_folders_and_refuses_test_questions(canal: Path, tmp_path: Path):
    out = tmp_path / "names.safetensors"

    def run(*options: str) -> str:
        result = CliRunner().invoke(app, ["remember", "--out", str(out), "--repositories", *options])
        return result.output if result.exception is None else str(result.exception)

    assert "1 repositories, 3 files, 4 parts" in run(str(canal), "--split", "none")
    assert NameMemory.read(out).source == "questions"
    assert "1 repositories" in run(str(canal), "--split", "none", "--texts")
    assert NameMemory.read(out).source == "texts"
    assert "unknown split 'known_test'" in run(str(canal), "--split", "known_test")
    assert "unknown repository, and no folder 'flsk'" in run("flsk")


def test_folders_without_text_are_one_line(tmp_path: Path):
    (tmp_path / "a.bin").write_bytes(b"\0")
    with pytest.raises(UsageError, match="no file holds text"):
        count({"own": tmp_path})


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_words_of_any_script_are_told_once(text: str):
    words = words_asked(text)
    assert len(set(words)) == len(words)
    assert words_asked("水門は毎年") == ["水門", "門は", "は毎", "毎年"]
