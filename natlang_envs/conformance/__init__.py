"""Conformance: checks of determinism and contract for any text environment.

case           an environment under test, how it is played, here and in another process, and how two are compared
contract       spaces, infos, commands, endings, errors
determinism    equal episodes, in this process and in others
snapshots      saved states
vectors        vector forms
servers        a server of chat models on loopback, with every shape of an answer
answer_forms   how models write a command, to try a reader of answers with
test_contract  the checks as tests of pytest

On the command line, with one test a check and environment:

    pytest --pyargs natlang_envs.conformance --natlang-env my_package:My/Env-v0 --natlang-kwargs '{"size": 5}'

In a test file, `@pytest.mark.parametrize("check", CHECKS)` and `check(Case("My/Env-v0"))`.
"""

from collections.abc import Callable
from inspect import isfunction

from natlang_envs.conformance import contract, determinism, snapshots, vectors
from natlang_envs.conformance.case import Case, NotApplicable

__all__ = ["CHECKS", "Case", "Check", "NotApplicable"]

Check = Callable[[Case], None]

# Every public function of these modules is a check: it takes a `Case`, and raises `AssertionError` or `NotApplicable`.
CHECKS: tuple[Check, ...] = tuple(
    each
    for module in (determinism, contract, snapshots, vectors)
    for name, each in vars(module).items()
    if isfunction(each) and each.__module__ == module.__name__ and not name.startswith("_")
)
