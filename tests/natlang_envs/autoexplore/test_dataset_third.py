"""The third edition of the labels: the second with amendments of its own, and further labels."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from natlang_envs import UsageError
from natlang_envs.autoexplore.dataset import editions
from natlang_envs.autoexplore.dataset.blind_review import completeness, fresh_reading_file
from natlang_envs.autoexplore.dataset.catalogue import COFFEE, catalogue
from natlang_envs.autoexplore.dataset.chosen import chosen_labels
from natlang_envs.autoexplore.dataset.editions import (
    Amendment,
    Elsewhere,
    amendments,
    digest,
    explained,
    load_labels,
)
from natlang_envs.autoexplore.dataset.further import further_file, read_further
from natlang_envs.autoexplore.dataset.labels import PARTS, Evidence, Label
from natlang_envs.autoexplore.dataset.licences import licence_of_quotes
from natlang_envs.autoexplore.dataset.locations import data_folder
from natlang_envs.autoexplore.dataset.report import check, leaks
from natlang_envs.autoexplore.repository.tree import Repository
from natlang_envs.autoexplore.tasks import LABELLED, RepositoryTasks
from tools.dataset import further as tool
from tools.dataset.drafts import fill_file
from tools.dataset.drawn import is_drawn
from tools.dataset.further import assemble_further, kept_drafts, write_further

DIGESTS = {
    1: "e2648ceb1a7a2372b95a5a883e62ac4f17528bff8e6bc47d69cbe1c4e1ec37a6",
    2: "b593760c60c4ea06de925071666cad31b203deb3dda235d2da803e4daa6d2c8a",
    3: "51bb75cb49379fe30cf631ab8930f49421570d96e646784ef16b1d4727c5c6e4",
}
SECOND = {part: load_labels(part, 2) for part in PARTS}
THIRD = {part: load_labels(part, 3) for part in PARTS}
FURTHER = {part: read_further(part) for part in PARTS}


def why(label: Label) -> list[str]:
    return explained(label, 3)


def test_the_digests_of_all_editions_are_pinned() -> None:
    assert {edition: digest(edition) for edition in editions.EDITIONS} == DIGESTS
    assert digest(3) in (data_folder() / "README.md").read_text(), "run python -m tools.dataset card"


def test_the_second_edition_asks_what_it_asked() -> None:
    """Without evidence, some of which is empty where its repository was not fetched."""
    total = hashlib.sha256()
    for part, labels in SECOND.items():
        for each in labels:
            content = [part, each.id, each.question, each.natural, each.answer, each.targets, each.path, each.depth]
            total.update(json.dumps([*content, each.kind, each.difficulty, each.bm25]).encode())
    assert total.hexdigest() == "1bc4d82f4444206a4629f61979ab6d37e19f7a5dd280764a2c3a781b948990fd"


def test_the_third_edition_is_the_second_amended_and_then_the_further_labels() -> None:
    known = amendments(3)
    for part, labels in THIRD.items():
        before = [*SECOND[part], *FURTHER[part]]
        kept = [each for each in before if not (each.id in known and known[each.id].dropped)]
        assert [each.id for each in labels] == [each.id for each in kept]
        for now, then in zip(labels, kept, strict=True):
            assert set(then.targets) <= set(now.targets)
            assert now == then or now.id in known
            assert now.natural
    ids = [label.id for labels in THIRD.values() for label in labels]
    assert len(ids) == len(set(ids))
    assert set(known) <= {label.id for part in PARTS for label in (*SECOND[part], *FURTHER[part])}


def test_no_file_is_on_two_sides_and_the_further_labels_are_where_their_files_were_drawn() -> None:
    assert leaks(THIRD) == []
    for part, labels in FURTHER.items():
        for label in labels:
            if catalogue()[label.repository].split == "train":
                assert {is_drawn(label.repository, path) for path in label.targets} == {part == "test_seen"}, label.id
            else:
                assert catalogue()[label.repository].split == part


def test_the_file_of_an_old_question_is_drawn_as_the_question_was() -> None:
    for part, drawn in (("train", False), ("test_seen", True)):
        for label in SECOND[part]:
            assert {is_drawn(label.repository, path) for path in label.targets} == {drawn}


@pytest.mark.slow
def test_every_label_of_the_third_edition_holds_and_no_evidence_stands_elsewhere_unexplained() -> None:
    assert check(THIRD, explained=why).problems == ()


def test_every_label_about_the_coffee_company_holds(coffee: Repository) -> None:
    """The other repositories are checked by `natlang data check` and by `make test-full`."""
    assert check(THIRD, explained=why).problems == ()


def test_what_may_not_be_quoted_is_not_in_the_files() -> None:
    for path in (*map(further_file, PARTS), *kept_drafts().glob("*.jsonl")):
        for line in path.read_text().splitlines() if path.exists() else ():
            content = json.loads(line)
            for each in content["evidence"]:
                restricted = licence_of_quotes(content["repository"], each["path"]) is not None
                assert ("text" in each) != restricted, content["question"]


def test_the_commands_know_the_third_edition() -> None:
    chosen = chosen_labels(None, None, 3)
    assert chosen.digest == digest(3)
    assert [each.id for part in PARTS for each in chosen.parts[part]] == [
        each.id for part in PARTS for each in THIRD[part]
    ]
    assert chosen.explained is not None
    with pytest.raises(UsageError, match="there is no edition 4: choose one of 1, 2, 3"):
        chosen_labels(None, None, 4)
    for part in PARTS:
        assert set(RepositoryTasks(part, None, LABELLED, 3, "natural").ids()) == {label.id for label in THIRD[part]}


def test_what_blind_readers_found_is_a_target_in_the_third_edition_alone() -> None:
    path = "tests/test_downloadermiddleware_httpcompression.py"
    second, third = (
        next(each for each in labels["test"] if each.id == "scrapy/41df37dc") for labels in (SECOND, THIRD)
    )
    assert path not in second.targets
    assert path in third.targets
    assert third.natural == second.natural


def test_the_fresh_reading_is_of_a_hundred_test_questions() -> None:
    ids = [json.loads(line)["id"] for line in fresh_reading_file().read_text().splitlines()]
    assert len(ids) == len(set(ids)) == 100
    found, further = completeness({label.id: label for label in THIRD["test"]}, fresh_reading_file())
    assert (found.successes, found.trials) == (100, 100)
    # The card says that there was no further file to judge.
    assert (further.successes, further.trials) == (0, 100)


# The command that makes the further labels.


def draft(question: str, natural: str, *spans: tuple[str, str], **others: Any) -> dict[str, Any]:
    evidence = [{"path": path, "text": text} for path, text in spans]
    made = {"repository": COFFEE, "question": question, "answer": "It says so.", "kind": "documentation"}
    return made | {"natural": natural, "targets": sorted(dict(spans)), "evidence": evidence} | others


def finished_file(path: Path, drafts: Iterable[dict[str, Any]]) -> Path:
    """Write drafts with a verdict on every file that BM25 ranks."""
    path.write_text("".join(f"{json.dumps(each)}\n" for each in drafts))
    contents = [each.content for each in fill_file(path)]
    for content in contents:
        for verdict in content["bm25"]:
            verdict["answers"] = verdict["path"] in content["targets"]
            verdict["why"] = "it was looked at"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in contents))
    return path


def span(coffee: Repository, path: str) -> tuple[str, str]:
    """Return a path and a line that stands in no other file."""
    texts = {other: coffee.read(other).decode() for other in coffee.files}
    lines = [line for line in texts[path].splitlines() if 40 < len(line) < 200]
    return path, next(line for line in lines if sum(line in text for text in texts.values()) == 1)


@pytest.fixture
def sides(coffee: Repository) -> dict[bool, list[str]]:
    """The handbook's files by whether they are drawn."""
    files = [path for path in coffee.files if path.startswith(("handbook/", "operations/")) and path.endswith(".md")]
    return {drawn: [path for path in files if is_drawn(COFFEE, path) == drawn] for drawn in (True, False)}


def test_a_further_question_goes_where_its_files_were_drawn(
    coffee: Repository, sides: dict[bool, list[str]], tmp_path: Path
) -> None:
    drawn, other = span(coffee, sides[True][0]), span(coffee, sides[False][0])
    drafts = [
        draft("Zebra crossing for whom, and until when?", "Zebra crossing: who may use it?", drawn),
        draft("Xylophones played by which of the colleagues?", "Which colleague plays the xylophone?", other),
    ]
    made = assemble_further([finished_file(tmp_path / "own.jsonl", drafts)])
    assert [[each.targets for each in made.parts[part]] for part in PARTS] == [[(other[0],)], [], [], [(drawn[0],)]]
    assert made.left_out == made.unexplained == []


def test_a_mixed_question_and_a_repeated_one_are_refused_with_one_line_or_left_out(
    coffee: Repository, sides: dict[bool, list[str]], tmp_path: Path
) -> None:
    drawn, other = span(coffee, sides[True][0]), span(coffee, sides[False][0])
    old = next(each for each in SECOND["train"] if each.repository == COFFEE)
    drafts = [
        draft("Zebra crossing for whom, and until when?", "Zebra crossing: who may use it?", drawn, other),
        draft("Xylophones played by which of the colleagues?", "", other),
        draft("Quartz clocks hang in how many of the rooms?", f"{old.natural} ", other),
        draft(f"{old.question[:-1]}!", "Who winds the quartz clocks up?", other),
        draft("Juggling lessons cost how much an evening?", "What does an evening of juggling cost?", other),
    ]
    again = draft("Juggling lessons cost how much an evening??", "Is juggling taught by anybody?", other)
    files = [finished_file(tmp_path / "a.jsonl", drafts), finished_file(tmp_path / "b.jsonl", [again])]
    with pytest.raises(UsageError, match=r"is drawn for test_seen and .* is not .*all 5 such drafts") as told:
        assemble_further(files)
    assert "\n" not in str(told.value)
    made = assemble_further(files, leave_out=True)
    assert [each.question for each in made.parts["train"]] == [drafts[4]["question"]]
    said = "\n".join(made.left_out)
    for expected in (f"nearly {old.id}", "no natural wording", "is drawn for test_seen", "Juggling"):
        assert expected in said


def test_evidence_that_stands_in_another_file_too_is_told_until_an_amendment_is_made(
    coffee: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = {path: coffee.read(path).decode() for path in coffee.files if path.endswith(".md")}
    path, heading = next(
        (path, line)
        for path, text in texts.items()
        for line in text.splitlines()
        if 12 < len(line) < 200
        and len(those := [other for other in texts if line in texts[other]]) == 2
        and not any(is_drawn(COFFEE, other) for other in those)
    )
    drafts = [draft("Zebra crossing for whom, and until when?", "Zebra crossing: who may use it?", (path, heading))]
    file = finished_file(tmp_path / "own.jsonl", drafts)
    made = assemble_further([file])
    told = [line.partition(": evidence stands in ")[2].removesuffix(" too") for line in made.unexplained]
    assert len(told) == 1
    (label,) = (each for labels in made.parts.values() for each in labels)
    for amendment in (
        Amendment(label.id, added=tuple(Evidence(other, heading) for other in told)),
        Amendment(label.id, dropped="a heading is no answer"),
        Amendment(label.id, elsewhere=tuple(Elsewhere(other, "a heading") for other in told)),
    ):
        for module in (tool, editions):
            monkeypatch.setattr(module, "amendments", lambda edition, known=amendment: {known.id: known})
        assert assemble_further([file]).unexplained == []


def test_the_kept_drafts_make_the_labels_again(
    coffee: Repository, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = kept_drafts() / f"{COFFEE}.jsonl"
    if not kept.exists():
        pytest.skip("no further label is about the Coffee Company")
    made = assemble_further([kept])
    assert made.parts == {part: [each for each in FURTHER[part] if each.repository == COFFEE] for part in PARTS}
    monkeypatch.setattr(tool, "further_file", lambda part: tmp_path / f"further_{part}.jsonl")
    monkeypatch.setattr(tool, "kept_drafts", lambda: tmp_path / "drafts")
    written = write_further(made)
    assert {path.name for path in written} >= {kept.name}
    lines = {
        line for part in PARTS if further_file(part).exists() for line in further_file(part).read_text().splitlines()
    }
    assert set((tmp_path / "drafts" / kept.name).read_text().splitlines()) <= lines
