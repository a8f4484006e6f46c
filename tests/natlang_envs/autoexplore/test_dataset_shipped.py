"""The dataset as it is shipped, and the environment that asks it."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from natlang_envs import UsageError
from natlang_envs.autoexplore.dataset import shipped
from natlang_envs.autoexplore.dataset.blind_review import completeness, fresh_reading_file
from natlang_envs.autoexplore.dataset.catalogue import COFFEE, data_folder, pinned_repository
from natlang_envs.autoexplore.dataset.checks import evidence_elsewhere, natural_problems
from natlang_envs.autoexplore.dataset.labels import KNOWN_SPLITS, PARTS, Evidence, Label
from natlang_envs.autoexplore.dataset.report import DEPTHS, all_parts, bm25_right, check, rates
from natlang_envs.autoexplore.dataset.shipped import (
    VALIDATION,
    digest,
    licence_of_quotes,
    load_labels,
    part_file,
    quotation_of,
    restored,
)
from natlang_envs.autoexplore.tasks import LABELLED, RepositoryTasks
from natlang_envs.cli.labels import chosen_labels
from natlang_envs.repository.tree import Repository
from natlang_envs.tasks import check_learning_split


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


def test_the_coffee_company_is_the_same_on_every_machine(coffee: Repository) -> None:
    assert (coffee.digest, len(coffee.files)) == (pinned_repository(COFFEE).digest, pinned_repository(COFFEE).files)


SHIPPED = all_parts(load_labels)


def test_the_digest_is_pinned_and_stands_in_the_card() -> None:
    # Labels that change raise the version of the boards, and the card is written again.
    assert digest() == "7289fec77e994777c2882f4c598ec0ac3319d8e93984a1e76bc42efe1cfb36c8", (
        "labels changed: raise the version of the boards, and write the card again"
    )
    assert digest() in (data_folder() / "README.md").read_text(), "run python -m tools.dataset card"


@pytest.mark.slow
def test_every_label_holds_and_no_evidence_stands_elsewhere_unexplained() -> None:
    """What needs the files of a repository is checked where they were fetched: `natlang data check` says where not."""
    chosen = chosen_labels(None, None)
    assert check(chosen.parts, explained=chosen.explained).problems == ()


@pytest.mark.usefixtures("coffee")
def test_every_label_about_the_coffee_company_holds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The other repositories are checked by `natlang data check` and by `make test-full`."""
    chosen = chosen_labels(None, None)
    folders = {COFFEE: chosen.folders(COFFEE)}
    assert check(chosen.parts, folders=folders.get, explained=chosen.explained).problems == ()


def test_every_label_has_both_wordings_and_ids_are_of_the_hard_one() -> None:
    labels = [label for part in PARTS for label in SHIPPED[part]]
    assert all(label.natural and label.natural != label.question for label in labels)
    assert len({label.id for label in labels}) == len(labels) == 2_846


def test_what_may_not_be_quoted_is_not_in_the_files() -> None:
    for part in PARTS:
        for line in part_file(part).read_text().splitlines():
            content = json.loads(line)
            for each in content["evidence"]:
                restricted = licence_of_quotes(content["repository"], each["path"]) is not None
                assert ("text" in each) != restricted, content["question"]


def test_a_quotation_is_restored_from_the_files_or_left_empty(coffee: Repository) -> None:
    text = coffee.read("README.md").decode()
    evidence = Evidence("README.md", text[20:60])
    quotation = quotation_of(text, evidence)
    assert restored(COFFEE, quotation) == evidence
    assert restored(COFFEE, quotation._replace(sha256="0" * 64)) == Evidence("README.md", "")
    assert restored("gone", quotation) == Evidence("README.md", "")


def test_without_the_files_what_may_not_be_quoted_is_empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path))
    shipped.load_labels.cache_clear()
    try:
        parts = all_parts(load_labels)
    finally:
        monkeypatch.undo()
        shipped.load_labels.cache_clear()
    empty = [
        (label.repository, path)
        for labels in parts.values()
        for label in labels
        for path, text in label.evidence
        if not text
    ]
    assert empty
    assert all(licence_of_quotes(*each) for each in empty)
    assert [label.targets for label in parts["test"]] == [label.targets for label in SHIPPED["test"]]


def test_evidence_that_stands_elsewhere_is_found_whatever_its_spaces(coffee: Repository) -> None:
    label = next(label for label in SHIPPED["train"] if label.repository == COFFEE)
    spread = [Evidence(path, "  ".join(text.split())) for path, text in label.evidence]
    assert set(label.targets) <= set(evidence_elsewhere(coffee, (), spread))
    assert not set(label.targets) & set(evidence_elsewhere(coffee, label.targets, spread))


def test_a_natural_wording_is_one_line_and_another_one() -> None:
    label = SHIPPED["train"][0]
    for natural, words in (
        ("two\nlines of a question", "not one line"),
        ("short", "characters"),
        (label.question, "hard"),
    ):
        assert words in "\n".join(natural_problems(replace(label, natural=natural)))


def test_the_environment_asks_in_the_natural_wording_unless_told_otherwise(coffee: Repository) -> None:
    label = next(each for each in SHIPPED["train"] if each.repository == COFFEE)
    for kwargs, question in (
        ({}, label.natural),
        ({"wording": "natural"}, label.natural),
        ({"wording": "hard"}, label.question),
    ):
        env = gymnasium.make("NatLang/AutoExplore-v0", dataset=COFFEE, split="train", **kwargs)
        assert question in env.reset(seed=0, options={"task_id": label.id})[1]["task"]
    with pytest.raises(UsageError, match="unknown wording 'natura': choose one of natural"):
        gymnasium.make("NatLang/AutoExplore-v0", wording="natura")


def test_the_fresh_reading_is_of_a_hundred_test_questions() -> None:
    ids = [json.loads(line)["id"] for line in gzip.decompress(fresh_reading_file().read_bytes()).splitlines()]
    assert len(ids) == len(set(ids)) == 100
    found, further = completeness({label.id: label for label in SHIPPED["test"]}, fresh_reading_file())
    assert (found.successes, found.trials) == (100, 100)
    # The card says that there was no further file to judge.
    assert (further.successes, further.trials) == (0, 100)


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


def test_tasks_are_the_labels_of_a_split() -> None:
    for split, labels in SHIPPED.items():
        assert set(RepositoryTasks(split, None, LABELLED).ids()) == {label.id for label in labels}
    everything = RepositoryTasks("all", None, None)
    for labels in SHIPPED.values():
        everything.check(labels[0].id)
    with pytest.raises(UsageError, match=r"is in the split 'train', not 'test': pass split='train'"):
        RepositoryTasks("test", None, LABELLED).check(SHIPPED["train"][0].id)


def ids(labels: Sequence[Label]) -> list[str]:
    return [label.id for label in labels]


def about(labels: Sequence[Label], others: Sequence[Label]) -> int:
    """Return how many labels have a target that one of the others has."""
    asked = {(label.repository, path) for label in others for path in label.targets}
    return sum(any((label.repository, path) in asked for path in label.targets) for label in labels)


def test_known_repositories_divide_the_same_labels_otherwise() -> None:
    train, validation, test = map(load_labels, KNOWN_SPLITS)
    assert sorted(ids([*train, *validation])) == sorted(ids(SHIPPED["train"]))
    assert ids(test) == ids([*SHIPPED["test_seen"], *SHIPPED["known"]])
    assert {label.repository for label in test} == {label.repository for label in train}
    assert (len(validation), about(validation, train)) == (VALIDATION, VALIDATION // 2)
    assert about(SHIPPED["known"], SHIPPED["train"]) == len(SHIPPED["known"])
    assert about(SHIPPED["test_seen"], SHIPPED["train"]) == 0
    for split in KNOWN_SPLITS:
        assert set(RepositoryTasks(split, None, LABELLED).ids()) == set(ids(load_labels(split)))
    with pytest.raises(UsageError, match=r"is in the split 'known_train', not 'known_test'"):
        RepositoryTasks("known_test", None, LABELLED).check(train[0].id)
    with pytest.raises(UsageError, match="unknown split 'known_tests'"):
        RepositoryTasks("known_tests", None, LABELLED)


def test_what_all_draws_is_what_it_drew_before_there_were_known_questions() -> None:
    everything = RepositoryTasks("all", None, LABELLED)
    assert not {label.id for label in SHIPPED["known"]} & set(everything.ids())
    assert len(everything.pool) == 2_563


def test_nothing_learns_from_the_questions_about_known_repositories() -> None:
    check_learning_split("known_train", allow_test=False)
    check_learning_split("known_validation", allow_test=False)
    for split in ("known_test", "known", "test_seen"):
        with pytest.raises(UsageError, match="may hold test tasks"):
            check_learning_split(split, allow_test=False)


def test_the_coffee_company_is_played_without_a_network(coffee: Repository) -> None:
    env = gymnasium.make("NatLang/AutoExplore-v0", dataset=COFFEE, split="train")
    for seed in range(5):
        _, info = env.reset(seed=seed)
        assert info["task_id"].startswith(f"{COFFEE}/")
        for command in env.unwrapped.demonstration():  # type: ignore[attr-defined]
            _, _, _, _, info = env.step(command)
        assert info["success"]


def test_what_was_not_fetched_says_what_to_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path))
    env = gymnasium.make("NatLang/AutoExplore-v0", split="test")
    with pytest.raises(UsageError, match="are not here: run natlang data fetch"):
        env.reset(seed=0)
