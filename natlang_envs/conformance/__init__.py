"""Conformance: checks of determinism and contract that any text environment can run.

On the command line, with one test a check and environment:

    pytest --pyargs natlang_envs.conformance --natlang-env my_package:My/Env-v0 --natlang-kwargs '{"size": 5}'

In a test file, `@pytest.mark.parametrize("check", CHECKS)` and `check(Case("My/Env-v0"))`.
"""

from natlang_envs.conformance.case import Case, NotApplicable
from natlang_envs.conformance.checks import CHECKS, Check

__all__ = ["CHECKS", "Case", "Check", "NotApplicable"]
