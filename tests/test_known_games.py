"""The page of ten games in known repositories: made from the recording, each reflection true of the screen."""

from __future__ import annotations

import pytest

from tools.known_games import PAGE, page, untrue

READ = "Read so far: docs/a.md (2 parts), b.md (1 part). docs/a.md looks best. I name docs/a.md. 3 steps are left."


def test_the_page_shows_the_recording() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: python -m tools.known_games"


@pytest.mark.parametrize(
    ("read", "steps_left", "fault"),
    [
        ({"docs/a.md": 2, "b.md": 1}, 3, ""),
        ({"docs/a.md": 1, "b.md": 1}, 3, "read"),
        ({"docs/a.md": 2}, 3, "read"),
        ({"docs/a.md": 2, "b.md": 1}, 4, "steps left"),
    ],
)
def test_a_reflection_that_counts_wrongly_is_found(read: dict[str, int], steps_left: int, fault: str) -> None:
    assert untrue(READ, read, steps_left).startswith(fault)
    assert bool(untrue(READ, read, steps_left)) == bool(fault)


def test_naming_a_file_that_was_not_read_is_found() -> None:
    assert untrue("I name docs/a.md. 3 steps are left.", {}, 3) == "names docs/a.md, which was not read"
