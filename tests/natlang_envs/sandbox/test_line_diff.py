"""Hunks take memory and time by the size of a text, and lead from one version to the other."""

from __future__ import annotations

import re
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs.sandbox import AutoExploreSandbox
from natlang_envs.sandbox.changes import line_diff
from natlang_envs.sandbox.changes.line_diff import CONTEXT, hunks

_HEAD = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@\n")
versions = st.lists(st.sampled_from([b"a\n", b"b\n", b"ab\n", b"\n", b"c", b"\r\n"]), max_size=14).map(b"".join)


def applied(before: bytes, diff: bytes) -> bytes:
    """Return what a diff makes of a text, by the rules of `patch`, with no place for guessing."""
    old = re.findall(rb"[^\n]*\n|[^\n]+", before)
    new: list[bytes] = []
    at = 0
    rows = re.findall(rb"[^\n]*\n", diff)
    for number, row in enumerate(rows):
        head = _HEAD.fullmatch(row)
        if head is not None:
            start = int(head[1]) - (head[2] != b"0")
            new += old[at:start]
            at = start
            assert len(new) == int(head[3]) - (head[4] != b"0")
        elif not row.startswith(b"\\"):
            cut = number + 1 < len(rows) and rows[number + 1].startswith(b"\\")
            line = row[1:-1] if cut else row[1:]
            if row[:1] in b" -":
                assert old[at] == line
                at += 1
            if row[:1] in b" +":
                new.append(line)
    return b"".join(new + old[at:])


@pytest.mark.parametrize("most", [0, 100_000])
@given(versions, versions, versions, versions)
def test_a_diff_leads_to_the_other_version(most: int, start: bytes, one: bytes, other: bytes, end: bytes) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(line_diff, "MAX_LINES", most)
        before, after = start + one + end, start + other + end
        diff = b"".join(hunks(before, after))
    assert applied(before, diff) == after
    assert bool(diff) == (before != after)
    assert not re.search(rb"^@@.*\n( .*\n){%d}" % (CONTEXT + 1), diff)


@pytest.mark.parametrize(("before", "after"), [(b"a\n", b"b\n"), (b"", b"a\n"), (b"a\n", b""), (b"a\r\n", b"\n")])
def test_millions_of_short_lines_take_little(tmp_path: Path, before: bytes, after: bytes) -> None:
    (tmp_path / "f").write_bytes(before * (4 << 20))
    (tmp_path / "g").write_bytes(b"")
    with AutoExploreSandbox(tmp_path) as sandbox:
        sandbox.overlay.write("f", after * (4 << 20))
        sandbox.repository.read("f")
        begun = time.process_time()
        size = len(sandbox.diff())
        assert time.process_time() - begun < 1.5  # half a second on a machine with nothing else to do
        tracemalloc.start()
        assert len(sandbox.diff()) == size
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    assert peak < 100 << 20
