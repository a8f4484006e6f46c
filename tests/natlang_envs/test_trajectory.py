"""Recorded episodes: files that come back as they were, replay, and where a forged one parts from the truth."""

from __future__ import annotations

import gzip
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from hypothesis import given
from hypothesis import strategies as st

from natlang_envs import UsageError, unwrap
from natlang_envs.files import write_whole
from natlang_envs.trajectory import (
    MAX_FILE_BYTES,
    Recorder,
    Trajectory,
    chain,
    difference,
    plan_length,
    read_trajectories,
    replay,
    write_trajectories,
)
from tests import strategies

DROPOFF = "NatLang/DangerousTaxi-Dropoff-v0"
TASK = "classic/2.3/red-green"


def record(actions: list[str] | None = None, reflections: str | None = None) -> Trajectory:
    """Play actions, by default the oracle's, and record them."""
    env = gymnasium.make(DROPOFF)
    observation, _ = env.reset(seed=3, options={"task_id": TASK})
    recorder = Recorder(TASK, 3, 0, observation)
    for action in unwrap(env).oracle() if actions is None else actions:
        observation, reward, terminated, truncated, info = env.step(action)
        recorder.add(action, reflections, observation, float(reward), terminated, truncated, info["success"])
        if terminated or truncated:
            break
    return recorder.trajectory()


def differs(recorded: Trajectory) -> str | None:
    return difference(recorded, replay(gymnasium.make(DROPOFF), recorded))


# Files.


@given(episodes=st.lists(strategies.trajectories(), max_size=4))
def test_a_file_gives_back_what_was_written(episodes: list[Trajectory]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, again = Path(folder, "deep", "a.gz"), Path(folder, "b.gz")
        write_trajectories(path, episodes)
        assert read_trajectories(path) == episodes
        write_trajectories(again, read_trajectories(path))
        assert again.read_bytes() == path.read_bytes()
        assert sorted(each.name for each in path.parent.iterdir()) == ["a.gz"], "something unfinished is left"


def test_a_file_is_the_same_bytes_at_any_time(golden: Callable[[str, str], None], tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    write_trajectories(path, [record()])
    content = path.read_bytes()
    assert content[4:8] == bytes(4), "the time of writing is in the file"
    golden("trajectory.jsonl", gzip.decompress(content).decode())


@given(actions=strategies.actions, reflection=st.none() | strategies.any_text)
def test_any_words_can_be_recorded_and_replayed(actions: list[str], reflection: str | None) -> None:
    recorded = record(actions, reflection)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.gz")
        write_trajectories(path, [recorded])
        (back,) = read_trajectories(path)
    assert back == recorded
    replayed = replay(gymnasium.make(DROPOFF), back)
    assert replayed == recorded
    ended = recorded.terminated or recorded.truncated
    assert (difference(back, replayed) is None) == ended


def test_a_killed_write_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    write_trajectories(path, [record()])
    before = path.read_bytes()
    # The system kills the process in the middle of the write, at the first byte beyond the limit on a file's size.
    code = f"""
import resource, signal
from pathlib import Path
from natlang_envs.files import write_whole
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
write_whole(Path({str(path)!r}), bytes(1_000_000))
"""
    root = str(Path(__file__).parents[2])
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": root}, capture_output=True, check=False)
    assert done.returncode < 0, done.stderr
    assert path.read_bytes() == before
    write_whole(path, b"new")
    assert path.read_bytes() == b"new"


def packed(value: Any) -> bytes:
    return gzip.compress((value if isinstance(value, str) else json.dumps(value)).encode())


def as_json(**changes: Any) -> dict[str, Any]:
    return {**json.loads(json.dumps(record().__dict__)), **changes}


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"not gzip at all", "cannot be read"),
        (gzip.compress(b"a" * 100_000)[:50], "cannot be read"),
        (gzip.compress(b"\xff\xfe"), "cannot be read"),
        (b"", "^$"),  # an empty file holds no episodes: the protocol's check says which are missing
        (packed("{"), "line 1"),
        (packed("[]"), "exactly the keys"),
        (packed("null"), "exactly the keys"),
        (packed("[" * 100_000), "line 1"),
        (packed(as_json(extra=1)), "exactly the keys"),
        (packed({key: value for key, value in as_json().items() if key != "digest"}), "exactly the keys"),
        (packed(as_json(seed="3")), "seed must be int, not '3'"),
        (packed(as_json(seed=True)), "seed must be int, not True"),
        (packed(as_json(success=1)), "success must be bool, not 1"),
        (packed(as_json(task_id=None)), "task_id must be str, not None"),
        (packed(as_json(actions="move south")), "actions must be a list of str"),
        (packed(as_json(actions=[1])), "actions must be a list of str"),
        (packed(as_json(rewards=[True])), "rewards must be a list of int"),
        (packed(as_json(digest=None)), "digest must be str, not None"),
        (gzip.compress(b"%s\n\n" % json.dumps(as_json()).encode()), "line 2"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_corrupt_file_is_refused_in_one_line(content: bytes, words: str, tmp_path: Path) -> None:
    path = tmp_path / "a.gz"
    path.write_bytes(content)
    if words == "^$":
        assert read_trajectories(path) == []
        return
    with pytest.raises(UsageError, match=words) as refused:
        read_trajectories(path)
    assert "\n" not in str(refused.value)
    assert str(path) in str(refused.value)
    assert path.read_bytes() == content


def test_a_missing_file_is_named_with_the_remedy(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is missing: run `natlang evaluate` again"):
        read_trajectories(tmp_path / "none.gz")


@pytest.mark.slow
def test_a_file_that_unpacks_without_end_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.gz"
    path.write_bytes(gzip.compress(bytes(MAX_FILE_BYTES + 10), compresslevel=1))
    with pytest.raises(UsageError, match="unpacks to more than"):
        read_trajectories(path)


# Hashes and replay.


def test_the_running_hash_covers_all_observations() -> None:
    first = hashlib.sha256(b"\nfirst").hexdigest()
    assert chain("", "first") == first
    assert chain(first, "second") == hashlib.sha256(f"{first}\nsecond".encode()).hexdigest()
    recorder = Recorder("classic/0.0/red-green", 0, 0, "first")
    recorder.add("move south", None, "second", -1.0, False, False, False)
    assert recorder.trajectory().digest == chain(first, "second")


def test_an_honest_episode_replays_without_a_difference() -> None:
    recorded = record()
    assert recorded.success
    assert differs(recorded) is None
    assert plan_length(gymnasium.make(DROPOFF), TASK) == len(recorded.actions)


def changed(values: tuple[Any, ...], index: int, value: Any) -> tuple[Any, ...]:
    return (*values[:index], value, *values[index + 1 :])


@pytest.mark.parametrize(
    ("forge", "words"),
    [
        (lambda t: replace(t, actions=changed(t.actions, 1, "jump")), "the episode ends after step 2, but"),
        (lambda t: replace(t, digest="0" * 64), "the digest is 000000000000…, the environment gives"),
        (lambda t: replace(t, digest=""), "the digest is …, the environment gives"),
        (lambda t: replace(t, digest="1", rewards=changed(t.rewards, 0, 9.0)), "the reward of step 1 is 9.0"),
        (
            lambda t: replace(t, rewards=changed(t.rewards, 2, 20.0)),
            "the reward of step 3 is 20.0, the environment gives -1.0",
        ),
        (lambda t: replace(t, rewards=changed(t.rewards, 2, float("nan"))), "the reward of step 3 is nan"),
        (lambda t: replace(t, success=False), "success is False, the environment gives True"),
        (lambda t: replace(t, terminated=False), "terminated is False"),
        (lambda t: replace(t, truncated=True), "truncated is True"),
        (lambda t: replace(t, task_id="classic/2.3/red-blue"), "the reward of step"),
        (lambda t: replace(t, rewards=t.rewards[:-1]), "different lengths"),
        (lambda t: replace(t, reflections=(*t.reflections, None)), "different lengths"),
        (
            lambda t: replace(t, actions=t.actions[:3], rewards=t.rewards[:3], reflections=t.reflections[:3]),
            "the episode has not ended after its 3 recorded steps",
        ),
        (
            lambda t: replace(
                t,
                actions=(*t.actions, "move south"),
                rewards=(*t.rewards, -1.0),
                reflections=(*t.reflections, None),
            ),
            "the episode ends after step",
        ),
    ],
)
def test_the_first_difference_is_named(forge: Callable[[Trajectory], Trajectory], words: str) -> None:
    found = differs(forge(record()))
    assert found is not None
    assert words in found
    assert "\n" not in found


@given(data=st.data())
def test_no_single_edit_goes_unnoticed(data: st.DataObject) -> None:
    recorded = record()
    digest = st.text("0123456789abcdef", min_size=64, max_size=64)
    assert differs(replace(recorded, digest=data.draw(digest))) is not None
    name = data.draw(st.sampled_from(["rewards", "actions"]))
    values = getattr(recorded, name)
    index = data.draw(st.integers(0, len(values) - 1))
    other = {"rewards": st.floats(), "actions": strategies.action}[name]
    value = data.draw(other.filter(lambda each: each != values[index] and str(each).strip() != values[index]))
    assert differs(replace(recorded, **{name: changed(values, index, value)})) is not None


def test_the_seed_of_an_addressed_task_and_the_reflections_are_not_part_of_what_it_earns() -> None:
    assert differs(replace(record(), seed=99)) is None
    assert differs(replace(record(), reflections=tuple("ten words" for _ in record().actions))) is None


def test_white_space_around_a_recorded_action_counts_for_nothing() -> None:
    assert differs(replace(record(), actions=tuple(f" {action}\n" for action in record().actions))) is None
