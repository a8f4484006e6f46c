"""A labelling that goes on is the one that was begun; files that a model said nothing usable on are asked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from natlang_envs.autoexplore.dataset.llm_labels import journal_of, make_labels
from natlang_envs.errors import UsageError
from natlang_envs.repository.tree import open_repository
from tests.natlang_envs.autoexplore.test_dataset_labels import FILES
from tests.natlang_envs.autoexplore.test_dataset_own import Labeller
from tests.support.folders import write


class Trains:
    """A model that answers with nothing to do with the question."""

    def answer(self, system: str, prompt: str) -> str:
        return "I like trains."


def test_files_without_a_usable_answer_are_asked_again(tmp_path: Path) -> None:
    write(tmp_path / "shop", FILES)
    shop, out = open_repository(tmp_path / "shop"), tmp_path / "labels.jsonl"
    assert make_labels(shop, Trains(), out, count=1)[0] == []
    model = Labeller()
    labels, done = make_labels(shop, model, out, count=1)
    assert [each.path for each in done] == model.asked == list(shop.files)
    assert len(labels) == len(done)


@pytest.mark.parametrize(
    ("folder", "name", "count", "words"),
    [("tea", "one", 1, "repository '.*/shop'"), ("shop", "two", 1, "model 'one'"), ("shop", "one", 2, "questions 1")],
)
def test_what_was_begun_otherwise_is_refused(folder: str, name: str, count: int, words: str, tmp_path: Path) -> None:
    for each in ("shop", "tea"):
        write(tmp_path / each, FILES)
    out = tmp_path / "labels.jsonl"
    make_labels(open_repository(tmp_path / "shop"), Labeller(), out, name="one", count=1, limit=1)
    before = out.read_bytes(), journal_of(out).read_bytes()
    with pytest.raises(UsageError, match=rf"was made with {words}: choose another -o"):
        make_labels(open_repository(tmp_path / folder), Labeller(), out, name=name, count=count)
    assert (out.read_bytes(), journal_of(out).read_bytes()) == before
