"""Code that tries to get out: as the user of this run, and, where that is root, as an ordinary user too."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import natlang_envs.errors
from natlang_envs.sandbox.attacks import arena as arena_module
from natlang_envs.sandbox.attacks import cases
from natlang_envs.sandbox.attacks.arena import Arena, AttackResult, verdict
from natlang_envs.sandbox.attacks.cases import ATTACKS, Attack, script
from natlang_envs.sandbox.isolation import isolation
from natlang_envs.sandbox.isolation.isolation import Unsafe
from natlang_envs.sandbox.isolation.temporary_folders import remove_folder
from tests.support.isolation_here import isolation_or_skip
from tests.support.slow import slow_unless

ORDINARY = 54321  # a user id that nothing on the machine has


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    made = Arena()
    yield made
    made.close()


AT_ONCE = [name for name, each in ATTACKS.items() if name.startswith("call:") and not (each.control or each.layered)]


def _attack(number: int, name: str) -> Any:
    """Return an attack, of those that wait for a second or for a limit two in three as slow."""
    slow = name in AT_ONCE or (name.startswith(("hold:", "bomb:")) and number % 3)
    return pytest.param(name, marks=pytest.mark.slow if slow else ())


@pytest.mark.parametrize("name", list(map(_attack, range(len(ATTACKS)), ATTACKS)))
def test_it_is_held(arena: Arena, name: str) -> None:
    chosen = isolation_or_skip()
    attack = ATTACKS[name]
    if attack.layered and not chosen.lays():
        pytest.skip("NO OVERLAY CAN BE MOUNTED HERE, so this was not tested")
    outcome = arena.attack(chosen, attack)
    assert not verdict(attack, outcome), outcome
    if name.startswith("pip: setup.py"):
        assert "hostile setup.py" in outcome.stdout or "No module named" in outcome.stderr, "the hostile code never ran"


def test_calls_are_refused_at_once(arena: Arena) -> None:
    # A refused call leaves nothing behind, so one process asks for all of them.
    each = "".join(f"try: exec({script(ATTACKS[name].code)!r})\nexcept Exception: pass\n" for name in AT_ONCE)
    outcome = arena.attack(isolation_or_skip(), Attack(f"{each}print('asked for all')"))
    assert not verdict(ATTACKS[AT_ONCE[0]], outcome), outcome
    assert (outcome.stdout, len(AT_ONCE) > 80) == ("asked for all\n", True), outcome


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name, attack in ATTACKS.items() if not attack.layered])
def test_it_is_held_over_a_layer_too(arena: Arena, name: str) -> None:
    chosen = isolation_or_skip()
    if not chosen.lays():
        pytest.skip("NO OVERLAY CAN BE MOUNTED HERE, so this was not tested")
    attack = replace(ATTACKS[name], layered=True)
    outcome = arena.attack(chosen, attack)
    assert not verdict(attack, outcome), outcome


@pytest.mark.parametrize(
    "name",
    slow_unless(lambda number: number % 3 == 0, [name for name, attack in ATTACKS.items() if attack.control]),
)
def test_the_same_code_gets_out_where_nothing_isolates(arena: Arena, name: str) -> None:
    if name.startswith("reach: TCP mapped") and not Path("/proc/net/if_inet6").exists():
        pytest.skip("this machine has no IPv6")
    assert verdict(ATTACKS[name], arena.attack(Unsafe(), ATTACKS[name])), "the attack proves nothing"


def attacked_as_ordinary_user(*left_out: str) -> dict[str, Any]:
    """Run the attacks as another user, from a copy of the modules that this user may read."""
    if os.geteuid() != 0:
        pytest.skip("the tests above already ran as an ordinary user")
    top = Path(tempfile.mkdtemp(prefix="natlang-ordinary-", dir="/var/tmp"))
    try:
        top.chmod(0o755)
        for source in (natlang_envs.errors, isolation, cases):
            path = Path(source.__file__ or "")
            target = top.joinpath(*source.__name__.split(".")[:-1])
            target.mkdir(parents=True, exist_ok=True)
            for each in (*path.parent.glob("*.py"), *path.parent.glob("*.toml")):
                if each.name != "__init__.py":
                    shutil.copy(each, target)
        for package in [each for each in top.rglob("*") if each.is_dir()]:
            (package / "__init__.py").touch()  # empty: the real ones import what another Python may lack
        # setpriv itself still finds programs with root's rights; what it starts, env, does not.
        drop = ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups", "env"]
        for program in (sys.executable, "/usr/local/bin/python3", "/usr/bin/python3"):
            begin = [*drop, program, "-c", "import sys; sys.exit(sys.version_info < (3, 11))"]
            if subprocess.run(begin, cwd="/", capture_output=True, check=False).returncode == 0:
                break
        else:
            pytest.skip("NOT TESTED AS AN ORDINARY USER: no Python from 3.11 on that one may run")
        command = [*drop, program, "-m", arena_module.__name__, *left_out]
        done = subprocess.run(
            command, cwd=top, env={"PATH": "/usr/bin:/bin", "PYTHONPATH": str(top)}, capture_output=True, check=False
        )
        if b"need bubblewrap" in done.stderr:
            pytest.skip(f"NOT TESTED AS AN ORDINARY USER: {done.stderr.decode().splitlines()[-1]}")
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)
    finally:
        remove_folder(top)


# The filter of system calls, the limits and the network are the same whoever the user is, and what writes is held by
# what reads: `make test` asks them once.
@pytest.mark.parametrize(
    "left_out",
    [("call", "bomb", "reach", "hold", "write"), pytest.param((), marks=pytest.mark.slow)],
    ids=["few", "all"],
)
def test_an_ordinary_users_are_held(left_out: tuple[str, ...]) -> None:
    # One test: divided among the workers of pytest-xdist the attacks would run once in each.
    found = attacked_as_ordinary_user(*left_out)
    assert found["user"] == ORDINARY
    outcomes = {name: AttackResult(**each) for name, each in found["outcomes"].items()}
    expected = {name for name in ATTACKS if name.partition(":")[0] not in left_out}
    assert set(outcomes) in (expected, {name for name in expected if not ATTACKS[name].layered})
    wrong = {name: verdict(ATTACKS[name], outcome) for name, outcome in outcomes.items()}
    assert not {name: found for name, found in wrong.items() if found}


def test_no_attack_is_there_twice() -> None:
    assert len(ATTACKS) >= 400
    assert len({(attack.code, attack.pip, attack.layered) for attack in ATTACKS.values()}) == len(ATTACKS)
