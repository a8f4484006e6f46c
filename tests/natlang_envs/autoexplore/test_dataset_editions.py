"""The two editions of the labels: the first stays byte for byte, the second is the first with its amendments."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest

from natlang_envs import UsageError
from natlang_envs.autoexplore.dataset import editions
from natlang_envs.autoexplore.dataset.catalogue import COFFEE
from natlang_envs.autoexplore.dataset.checks import evidence_elsewhere, natural_problems
from natlang_envs.autoexplore.dataset.editions import (
    Amendment,
    Elsewhere,
    amend,
    amendments,
    digest,
    load_labels,
    parse_amendment,
    part_file,
)
from natlang_envs.autoexplore.dataset.labels import PARTS, Evidence
from natlang_envs.autoexplore.dataset.licences import licence_of_quotes
from natlang_envs.autoexplore.dataset.quotations import Quotation, quotation_of, restored
from natlang_envs.autoexplore.dataset.report import check, leaks
from natlang_envs.autoexplore.repository.tree import Repository
from natlang_envs.env import unwrap
from tools.dataset.amend import read_findings, take

FIRST = {
    "train": "0831a5f799afcb72be0d0ffc86a0104e13ec48404e1de7bf9aa647d4a15b7645",
    "validation": "fa4f225fa195cab4081f13a9e31af2a68749cc8915fb876ec063c567b39248a9",
    "test": "194ebf5f3dbfee249111a92b5e199dd1bdee659c8d4f632b8cca3572dff22baf",
    "test_seen": "e9ecae675bf34a4b055e889adc4c71dd35aab8b1bd985c219bfa2f22bf8413b5",
}
SECOND = {part: load_labels(part, 2) for part in PARTS}


def explained(label: Any) -> list[str]:
    known = amendments().get(label.id)
    return [each.path for each in known.elsewhere] if known else []


def test_the_first_edition_stays_byte_for_byte() -> None:
    assert {part: hashlib.sha256(part_file(part).read_bytes()).hexdigest() for part in PARTS} == FIRST
    assert digest(1) == "e2648ceb1a7a2372b95a5a883e62ac4f17528bff8e6bc47d69cbe1c4e1ec37a6"


@pytest.mark.slow
def test_every_label_of_the_second_edition_holds_and_no_evidence_stands_elsewhere_unexplained() -> None:
    assert check(SECOND, explained=explained).problems == ()


def test_every_label_about_the_coffee_company_holds(coffee: Repository) -> None:
    """The other repositories are checked by `natlang data check` and by `make test-full`."""
    assert check(SECOND, explained=explained).problems == ()


def test_the_second_edition_keeps_ids_and_order_and_every_target() -> None:
    for part in PARTS:
        known = {label.id: label for label in load_labels(part)}
        names = list(known)
        assert [label.id for label in SECOND[part]] == [
            name for name in names if not amendments().get(name, Amendment(name)).dropped
        ]
        for label in SECOND[part]:
            first = known[label.id]
            assert set(first.targets) <= set(label.targets)
            assert set(first.evidence) <= set(label.evidence)
            assert label.question == first.question
            assert label.asked("hard") == first.question
    assert leaks(SECOND) == []
    assert set(amendments()) <= {label.id for part in PARTS for label in load_labels(part)}


def test_what_may_not_be_quoted_is_not_in_the_amendments() -> None:
    for name, amendment in amendments().items():
        for each in amendment.added:
            restricted = licence_of_quotes(name.partition("/")[0], each.path) is not None
            assert isinstance(each, Quotation) == restricted, name


def test_an_amendment_is_the_same_after_its_line() -> None:
    whole = Amendment(
        "a/1",
        natural="Who mends it?",
        answer="The shop.",
        added=(Evidence("b", "text of it"), Quotation("c", 3, 4, "ab")),
        elsewhere=(Elsewhere("d", "a heading"),),
        path=("cat b", "id b"),
        kind="code",
        difficulty="shares",
    )
    for each in (whole, Amendment("a/1", dropped="a riddle"), Amendment("a/1")):
        assert parse_amendment(json.loads(each.to_json())) == each


@pytest.mark.parametrize(
    "line",
    [
        {},
        {"id": 3},
        {"id": "a/1", "more": ""},
        {"id": "a/1", "kind": "prose"},
        {"id": "a/1", "difficulty": "easy"},
        {"id": "a/1", "added": [{"path": "b", "start": "3", "length": 4, "sha256": "ab"}]},
        {"id": "a/1", "elsewhere": "b"},
        {"id": "a/1", "path": [3]},
    ],
)
def test_a_bad_amendment_is_refused(line: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"has exactly the keys|must be|has a path"):
        parse_amendment(line)


def test_a_quotation_is_restored_from_the_files_or_left_empty(coffee: Repository) -> None:
    text = coffee.read("README.md").decode()
    evidence = Evidence("README.md", text[20:60])
    quotation = quotation_of(text, evidence)
    assert restored(COFFEE, quotation) == evidence
    assert restored(COFFEE, quotation._replace(sha256="0" * 64)) == Evidence("README.md", "")
    assert restored("gone", quotation) == Evidence("README.md", "")


def test_findings_become_amendments_and_what_does_not_hold_is_told(coffee: Repository, tmp_path: Path) -> None:
    first, second, third, fourth = [label for label in load_labels("train") if label.repository == COFFEE][:4]
    used = {path for part in PARTS for label in load_labels(part) for path in label.targets}
    free = next(path for path in coffee.files if path.endswith(".md") and path not in used)
    span = " ".join(coffee.read(free).decode().split()[:8])
    held_out = next(label for label in load_labels("test_seen") if label.repository == COFFEE)
    lines = [
        {"id": first.id, "add": [{"path": free, "text": span, "why": "as well"}], "drop": False, "answer": None},
        {"id": second.id, "drop": True, "why": "it is a riddle"},
        {"id": third.id, "natural": "What does GLOSSARY.md say of it?"},
        {"id": third.id, "add": [{"path": free, "text": "nothing of the kind", "why": ""}]},
        {"id": fourth.id, "add": [held_out.evidence[0]._asdict()], "answer": "Another one."},
        {"id": "gone/1", "drop": True},
    ]
    file = tmp_path / "judged.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    made = take(read_findings([file]), {})
    label = amend(first, made.amendments[first.id])
    assert label is not None
    assert free in label.targets
    assert " ".join(label.evidence[-1].text.split()) == span
    assert amend(second, made.amendments[second.id]) is None
    assert made.amendments[third.id] == Amendment(third.id)
    assert "which is in test_seen" in made.amendments[fourth.id].dropped
    said = "\n".join(made.problems)
    for expected in (
        "names a file: GLOSSARY.md",
        "'nothing of the kind' does not stand in",
        "gone/1: there is no such",
    ):
        assert expected in said
    assert take([], made.amendments).amendments == made.amendments


def test_evidence_that_stands_elsewhere_is_found_whatever_its_spaces(coffee: Repository) -> None:
    label = next(label for label in load_labels("train") if label.repository == COFFEE)
    spread = [Evidence(path, "  ".join(text.split())) for path, text in label.evidence]
    assert set(label.targets) <= set(evidence_elsewhere(coffee, (), spread))
    assert not set(label.targets) & set(evidence_elsewhere(coffee, label.targets, spread))


def test_a_natural_wording_is_one_line_and_another_one() -> None:
    label = load_labels("train")[0]
    for natural, words in (
        ("two\nlines of a question", "not one line"),
        ("short", "characters"),
        (label.question, "hard"),
    ):
        assert words in "\n".join(natural_problems(replace(label, natural=natural)))


def test_a_version_of_the_environment_asks_its_edition(coffee: Repository) -> None:
    labels = [each for each in SECOND["train"] if each.repository == COFFEE]
    label = next((each for each in labels if each.natural), labels[0])
    options = {"task_id": label.id}
    shown = {
        (env_id, wording): unwrap(gymnasium.make(f"NatLang/{env_id}", dataset=COFFEE, wording=wording))
        for env_id, wording in (("AutoExplore-v0", None), ("AutoExplore-v1", None), ("AutoExplore-v1", "hard"))
    }
    asked = {key: env.reset(seed=0, options=options)[1]["task"] for key, env in shown.items()}
    assert label.asked("natural") in asked["AutoExplore-v1", None]
    assert label.question in asked["AutoExplore-v1", "hard"]
    assert asked["AutoExplore-v1", "hard"] == asked["AutoExplore-v0", None]
    with pytest.raises(UsageError, match="the first edition has no natural wording: use NatLang/AutoExplore-v2"):
        gymnasium.make("NatLang/AutoExplore-v0", wording="natural")
    dropped = next((each.id for each in amendments().values() if each.dropped), None)
    if dropped:
        gymnasium.make("NatLang/AutoExplore-v0", split="all", dataset="labelled").unwrapped.tasks.check(dropped)
        with pytest.raises(UsageError, match="unknown task"):
            gymnasium.make("NatLang/AutoExplore-v1", split="all", dataset="labelled").unwrapped.tasks.check(dropped)


def test_without_the_files_what_may_not_be_quoted_is_empty(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path))
    editions.load_labels.cache_clear()
    try:
        parts = {part: load_labels(part, 2) for part in PARTS}
    finally:
        monkeypatch.undo()
        editions.load_labels.cache_clear()
    empty = [
        (label.repository, path)
        for labels in parts.values()
        for label in labels
        for path, text in label.evidence
        if not text
    ]
    assert all(licence_of_quotes(*each) for each in empty)
    assert [label.targets for label in parts["test"]] == [label.targets for label in SECOND["test"]]
