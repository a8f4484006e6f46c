"""`restore` of any JSON restores it, or refuses it with one line and changes nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from natlang_envs.errors import UsageError
from natlang_envs.sandbox import AutoExploreSandbox, Limits
from tests.strategies import examples

FILES = {"a.txt": "a", "sub/b.txt": "b", "sub/deep/c.txt": "c", ".hidden": "", "run.sh": "x"}


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    folder = tmp_path_factory.mktemp("states")
    for name, content in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    (folder / "run.sh").chmod(0o755)
    with AutoExploreSandbox(folder, limits=Limits(disk=20_000)) as made:
        yield made


BAD_PATHS = [
    "",
    ".",
    "..",
    "../x",
    "/x",
    "x/",
    "a//b",
    "sub/../a.txt",
    "sub/./b.txt",
    "x\0",
    "\\x00",
    "\\x2e",
    "\u202e",
]
BAD_PATHS += ["missing/x", "a.txt/x", "x" * 256, "/".join(["d"] * 200), "\ud800", "sub/deep/c.txt/..", "\n"]
BAD_ENTRIES: list[Any] = [
    None, 5, "x", [], ["x"], ["x", "file", "", None, 1], ["x", "file", "!", None], ["x", "file", "YQ==", "644"],
    ["x", "file", "YQ==", -1], ["x", "file", "YQ==", 0o4755], ["x", "file", "YQ==", True], ["x", "file", "YQ==", 1.0],
    ["x", "file", 5, None], [5, "file", "", None], ["x", "folder", "text", None], ["x", "device", "", None],
    ["x", "mode", "", 0o644], ["a.txt", "mode", "", None], ["a.txt", "mode", "text", 0o644], ["x", None, "", None],
    ["a.txt", None, "text", None], ["x", "link", "", None], ["x", "link", "a\0", None], ["x", "link", "a", 0o777],
    ["sub", None, "", None], ["sub", "file", "", None], ["sub", "link", "x", None], ["sub/.git/x", "file", "", None],
    [".git", "mode", "", 0o644], ["x", "file", "A" * 40_000, None], [["x"], "file", "", None], {"x": 1},
]  # fmt: skip


@pytest.mark.parametrize(
    "changes",
    [*([[path, "file", "", None]] for path in BAD_PATHS), *([each] for each in BAD_ENTRIES), 5, None, "x", [5]],
)
@pytest.mark.parametrize("cwd", ["", "sub"])
def test_what_is_no_state_is_refused_in_one_line(sandbox: AutoExploreSandbox, changes: Any, cwd: str) -> None:
    sandbox.reset()
    sandbox.execute("echo kept > kept")
    check(sandbox, [cwd, changes], restored=False)


@pytest.mark.parametrize("cwd", ["missing", "a.txt", "..", "/", 5, None, [""], ".git", "sub/"])
def test_a_current_folder_that_is_none(sandbox: AutoExploreSandbox, cwd: Any) -> None:
    check(sandbox, [cwd, []], restored=False)


def test_the_same_path_twice(sandbox: AutoExploreSandbox) -> None:
    check(sandbox, ["", [["x", "file", "", None], ["x", "folder", "", None]]], restored=False)


def check(sandbox: AutoExploreSandbox, state: Any, restored: bool | None = None) -> None:
    """Restore, and look at what must hold whether or not it was a state."""
    before = sandbox.snapshot()
    try:
        sandbox.restore(state)
    except UsageError as error:
        assert not restored
        assert "\n" not in str(error)  # noqa: PT017
        assert sandbox.snapshot() == before
    else:
        assert restored is not False, state
        after = json.loads(json.dumps(sandbox.snapshot()))
        sandbox.restore(after)
        assert json.loads(json.dumps(sandbox.snapshot())) == after
    for line in ("ls -laR /work", "cat a.txt sub/b.txt", "cd ..", "cd /work", "echo x > new", "cat new"):
        sandbox.execute(line)
    assert ".git" not in sandbox.execute("ls -aR /work").stdout.lower()
    sandbox.diff()


names = st.sampled_from(
    ["a.txt", "sub", "b.txt", "deep", "c.txt", "new", ".git", "config", "..", ".", "", "run.sh", "\\x0a"]
)
paths = st.lists(names, min_size=1, max_size=4).map("/".join) | st.sampled_from(
    [*FILES, "sub", "sub/deep", "new", "new/x"]
)
kinds = st.sampled_from(["file", "folder", "link", "other", "mode", None, "file", "folder"])
texts = st.sampled_from(["", "YQ==", "YWI=", "a.txt", "no base64", "\\x0a"])
modes = st.sampled_from([None, None, None, 0, 0o644, 0o755, 0o777, 0o1000, -1, "x"])
entries = st.tuples(paths, kinds, texts, modes).map(list)
anything = st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=10)
states = st.tuples(paths | st.just(""), st.lists(entries | anything, max_size=6)).map(list) | anything


@settings(max_examples=examples(1500), suppress_health_check=list(HealthCheck), deadline=None)
@given(states)
def test_any_json(sandbox: AutoExploreSandbox, state: Any) -> None:
    check(sandbox, state)


whole = st.lists(
    st.sampled_from(
        ["echo a > new", "echo b > a.txt", "echo c >> sub/b.txt", "cd sub", "cd /work", "echo d > sub/deep/n"]
    ),
    max_size=5,
)


@settings(max_examples=examples(1500), suppress_health_check=list(HealthCheck), deadline=None)
@given(whole, st.data())
def test_a_mutated_state(sandbox: AutoExploreSandbox, lines: list[str], data: st.DataObject) -> None:
    sandbox.reset()
    for line in lines:
        sandbox.execute(line)
    cwd, changes = json.loads(json.dumps(sandbox.snapshot()))
    check(sandbox, [cwd, changes], restored=True)
    changes.insert(data.draw(st.integers(0, len(changes))), data.draw(entries))
    if data.draw(st.booleans()):
        del changes[data.draw(st.integers(0, len(changes) - 1))]
    check(sandbox, [cwd, changes])
