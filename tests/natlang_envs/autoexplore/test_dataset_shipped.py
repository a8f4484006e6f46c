"""The dataset as it is shipped, and the environment that asks it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import pytest

from natlang_envs import UsageError
from natlang_envs.autoexplore.dataset.catalogue import COFFEE, entry_of
from natlang_envs.autoexplore.dataset.editions import load_labels
from natlang_envs.autoexplore.dataset.labels import PARTS
from natlang_envs.autoexplore.dataset.report import DEPTHS, all_parts, bm25_right, check, rates
from natlang_envs.autoexplore.repository.tree import Repository
from natlang_envs.autoexplore.tasks import LABELLED, RepositoryTasks


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"dataset": "coffee"}, "unknown dataset 'coffee': choose one of coffee-company"),
        ({"dataset": "embedded", "split": "test_seen"}, "unknown split 'test_seen'"),
        ({"dataset": "labelled", "repository": ".", "question": "x", "target": "y"}, "leave dataset out"),
    ],
)
def test_wrong_datasets_are_named(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(UsageError, match=words):
        gymnasium.make("NatLang/AutoExplore-v0", **arguments)


@pytest.mark.skipif(not entry_of(COFFEE).digest, reason="repositories.toml does not pin it yet")
def test_the_coffee_company_is_the_same_on_every_machine(coffee: Repository) -> None:
    assert (coffee.digest, len(coffee.files)) == (entry_of(COFFEE).digest, entry_of(COFFEE).files)


SHIPPED = all_parts(load_labels)
have_labels = pytest.mark.skipif(not SHIPPED["train"], reason="no labels are written yet")


def test_every_shipped_label_holds() -> None:
    """What needs the files of a repository is checked where they were fetched: `natlang data check` says where not."""
    assert check(SHIPPED).problems == ()


@have_labels
def test_the_dataset_is_as_large_as_promised() -> None:
    everything = [label for labels in SHIPPED.values() for label in labels]
    by_repository = [label.repository for label in everything]
    assert len(everything) >= 1_500
    assert sum(by_repository.count(name) >= 80 for name in set(by_repository)) >= 12
    shares = [
        sum(low <= label.depth <= high for label in everything) / len(everything) for low, high in ((0, 1), (2, 2))
    ]
    assert min(shares) >= 0.3
    assert sum(label.depth >= 3 for label in everything) / len(everything) >= 0.15
    assert all(SHIPPED[part] for part in PARTS)
    for labels in SHIPPED.values():
        for group in DEPTHS:
            rate = rates(labels, bm25_right)[group]
            assert rate.successes <= 0.7 * rate.trials, "BM25 alone answers too many: rewrite those questions"


@have_labels
def test_tasks_are_the_labels_of_a_split() -> None:
    for split, labels in SHIPPED.items():
        assert set(RepositoryTasks(split, None, LABELLED).ids()) == {label.id for label in labels}
    everything = RepositoryTasks("all", None, None)
    for labels in SHIPPED.values():
        everything.check(labels[0].id)
    with pytest.raises(UsageError, match=r"is in the split 'train', not 'test': pass split='train'"):
        RepositoryTasks("test", None, LABELLED).check(SHIPPED["train"][0].id)


@have_labels
def test_the_coffee_company_is_played_without_a_network(coffee: Repository) -> None:
    env = gymnasium.make("NatLang/AutoExplore-v0", dataset=COFFEE, split="train")
    for seed in range(5):
        _, info = env.reset(seed=seed)
        assert info["task_id"].startswith(f"{COFFEE}/")
        for command in env.unwrapped.demonstration():  # type: ignore[attr-defined]
            _, _, _, _, info = env.step(command)
        assert info["success"]


@have_labels
def test_what_was_not_fetched_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path))
    env = gymnasium.make("NatLang/AutoExplore-v0", split="test")
    with pytest.raises(UsageError, match="are not here: run natlang data fetch"):
        env.reset(seed=0)
