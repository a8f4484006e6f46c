"""Drafts of labels, as `python -m tools.dataset drafts` takes them."""

from __future__ import annotations

from typing import Any

import pytest

from natlang_envs import UsageError
from natlang_envs.autoexplore.dataset.catalogue import COFFEE
from natlang_envs.repository.tree import Repository
from tools.dataset.drafts import draft_hints, draft_problems, label_of_draft, read_draft, to_judge

pytestmark = pytest.mark.usefixtures("coffee")
TARGET = "operations/lost-property.md"


def draft(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "repository": COFFEE,
        "targets": {TARGET: [26, 26]},
        "natural": "May I keep a reward that a guest gives me for what I found?",
        "question": "A customer is glad to have the purse back and hands me a note. Is it mine?",
        "answer": "No, staff do not keep rewards.",
        "not": {},
    }
    return read_draft(given | changes)


def judged(**changes: Any) -> dict[str, Any]:
    paths = [each.path for each in label_of_draft(draft(**changes)).bm25]
    return draft(**changes, **{"not": dict.fromkeys(paths, "about something else")})


def test_lines_become_the_span_and_a_command_adds_the_rest(coffee: Repository) -> None:
    label = label_of_draft(judged())
    (span,) = label.evidence
    assert span.text == coffee.read(TARGET).decode().split("\n")[25]
    assert (label.kind, label.depth, label.path[-1]) == ("documentation", 1, "id lost-property.md")
    assert list(draft_problems(label)) == []
    quoted = judged(targets={TARGET: ["Staff do not keep rewards", "tip pool of the day"]})
    assert [each.text for each in label_of_draft(quoted).evidence] == quoted["targets"][TARGET]


def test_what_is_wrong_and_what_is_to_be_judged_is_told() -> None:
    label = label_of_draft(draft(targets={TARGET: "nowhere in the file"}, answer="12 pounds at most."))
    problems = "\n".join(draft_problems(label))
    assert "is not in operations/lost-property.md" in problems
    assert problems.count("has no reason") == sum(not each.answers for each in label.bm25)
    assert "the answer says 12, no span does" in "\n".join(draft_hints(label))
    shown = {path: why for path, why, _ in to_judge(label)}
    assert {path for path, why in shown.items() if why == "judge"} == {e.path for e in label.bm25 if not e.answers}


@pytest.mark.parametrize("changes", [{"targets": {"operations/found.md": [1, 2]}}, {"not": {"README": "no"}}])
def test_a_file_that_is_not_there_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="is no file of coffee-company"):
        label_of_draft(draft(**changes))
