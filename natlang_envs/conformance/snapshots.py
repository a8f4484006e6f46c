"""Checks of `snapshot` and `restore`: the same moment and the same future, here, elsewhere and through JSON."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

from natlang_envs.conformance.case import (
    SEEDS,
    Case,
    advance,
    assert_same,
    begin,
    choose,
    in_other_process,
    replayed,
    transcript,
    walk,
)
from natlang_envs.env import NatLangEnv, Snapshot

_FORMS: dict[str, Callable[[Snapshot], Any]] = {
    "itself": lambda snapshot: snapshot,
    "JSON": lambda snapshot: json.loads(json.dumps(snapshot)),
    "pickle": lambda snapshot: pickle.loads(pickle.dumps(snapshot)),
}


class _Saved(NamedTuple):
    """A snapshot, the moment it was taken at (as a reset would show it), and what came after."""

    snapshot: Snapshot
    actions: list[str]
    expected: list[str]


def _save(env: NatLangEnv, seed: int) -> _Saved:
    """Play an episode and take a snapshot at a random point: of seed 0 at the start, of seed 1 after the end."""
    length = sum(1 for _ in walk(env, seed, episodes=1, aimless=True)) - 1
    rng = random.Random(f"conformance/snapshot/{seed}")
    point = 0 if seed == 0 else length if seed == 1 else rng.randint(1, max(1, length - 1))
    moments = list(islice(walk(env, seed, episodes=1, aimless=True), point + 1))
    assert len(moments) == point + 1, "the same seed and commands gave a shorter episode"
    snapshot = env.snapshot()
    here = moments[-1]._replace(action=None, reward=0.0, terminated=False, truncated=False)
    future = moments[-1:]
    while not future[-1].ended:
        future.append(advance(env, choose(env, rng, aimless=True)))
    return _Saved(snapshot, [str(each.action) for each in future[1:]], transcript([here, *future[1:]]))


def snapshots_restore(case: Case) -> None:
    """A snapshot leads back to the same moment and the same future: from the end, another task, another instance."""
    for seed in SEEDS:
        env = case.make_inner()
        saved = _save(env, seed)
        other = case.make_inner()
        begin(other, seed + 1)
        for form, through in _FORMS.items():
            snapshot = through(saved.snapshot)
            what = f"a snapshot of seed {seed} through {form}"
            assert_same(saved.expected, replayed(env, snapshot, saved.actions), f"{what}, restored after the end")
            begin(env, seed + 1)
            assert_same(saved.expected, replayed(env, snapshot, saved.actions), f"{what}, restored in another task")
            again = replayed(other, snapshot, saved.actions)
            assert_same(saved.expected, again, f"{what}, restored in another instance")
            other.restore(snapshot)
            assert other.snapshot() == saved.snapshot, f"{what} and restored gives another snapshot"


def snapshots_restore_in_another_process(case: Case) -> None:
    """A snapshot leads to the same future in another process."""
    env = case.make_inner()
    saved = _save(env, 2)
    again = in_other_process(case, 1, snapshot=saved.snapshot, actions=saved.actions)
    assert_same(saved.expected, again, "a snapshot restored in another process")


def snapshots_change_nothing(case: Case) -> None:
    """Taking snapshots has no effect, and restoring one leaves the random numbers where they are."""
    for seed in SEEDS:
        expected = transcript(walk(case.make_inner(), seed, episodes=3))
        env = case.make_inner()
        lines: list[str] = []
        for moment in walk(env, seed, episodes=3):
            lines += transcript([moment])
            snapshot = env.snapshot()
            assert snapshot == env.snapshot(), "two snapshots of one moment differ"
            try:
                hash(snapshot)  # only what is immutable all through has one
            except TypeError as error:
                complaint = f"a snapshot holds something that can be changed ({error}): {snapshot.state!r:.200}"
                raise AssertionError(complaint) from None
        assert_same(expected, lines, "an episode with a snapshot at every step")
        env = case.make_inner()
        lines = []
        last: Snapshot | None = None
        for moment in walk(env, seed, episodes=3):
            lines += transcript([moment])
            here = env.snapshot()
            env.restore(last or here)
            env.restore(here)
            last = here
        assert_same(expected, lines, "an episode with a snapshot restored at every step")
