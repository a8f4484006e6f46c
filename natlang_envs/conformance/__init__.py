"""Conformance: checks of determinism and contract that any text environment can run.

case                    an environment under test, and what its checks may ask
checks                  the list of all checks
contract                spaces, infos, commands, endings, errors
determinism, process    equal episodes, in this process and in others
snapshots               saved states
vectors                 vector forms
test_contract           the checks as tests of pytest

On the command line, with one test a check and environment:

    pytest --pyargs natlang_envs.conformance --natlang-env my_package:My/Env-v0 --natlang-kwargs '{"size": 5}'

In a test file, `@pytest.mark.parametrize("check", CHECKS)` and `check(Case("My/Env-v0"))`.
"""

from natlang_envs.conformance.case import Case, NotApplicable
from natlang_envs.conformance.checks import CHECKS, Check

__all__ = ["CHECKS", "Case", "Check", "NotApplicable"]
