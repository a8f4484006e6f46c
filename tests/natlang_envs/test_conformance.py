"""Every environment of the suite passes every check, and every check catches an environment that breaks its promise."""

from __future__ import annotations

import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.spaces import Text

from natlang_envs import ENVIRONMENTS
from natlang_envs.conformance import CHECKS, Case, Check, NotApplicable
from natlang_envs.conformance.vectors import vector_calls_single_environments
from natlang_envs.make_env import make_env
from tests.support import broken
from tests.support.slow import PROCESSES

GENERATED: dict[str, Any] = {"map": "generated"}
EMBEDDED: dict[str, Any] = {"dataset": "embedded"}  # the labelled dataset needs a download
FAMILIES = ("DangerousTaxi-v0", "AutoExplore-v0", "AutoExplore-Search-v0", "AutoExplore-Change-v0", "ALFWorld-v0")
SUITE = [Case(entry.id, EMBEDDED if "AutoExplore" in entry.id else {}) for entry in ENVIRONMENTS]
QUICK = [case for case in SUITE if case.env_id.endswith(tuple(f"/{each}" for each in FAMILIES))]
SLOW = [  # other tasks, splits, lengths and sizes of the same families
    *(case for case in SUITE if case not in QUICK),
    Case("NatLang/AutoExplore-Change-v0", {**EMBEDDED, "partial": True, "split": "train", "file_budget": 200}),
    Case("NatLang/ALFWorld-v0", {"split": "train", "source": "mixed"}),
    Case("NatLang/DangerousTaxi-v0", {**GENERATED, "feedback": "explained"}),
    Case("NatLang/AutoExplore-ChangeLine-v0", {**EMBEDDED, "explain": True}),
    Case("NatLang/ALFWorld-v0", {"split": "test", "explain": True}),
    Case("NatLang/AutoExplore-Answer-v0", {**EMBEDDED, "form": "listed", "explain": True}),
    Case("NatLang/AutoExplore-Answer-v0", {**EMBEDDED, "form": "listed", "search": True, "file_budget": 60}),
    Case("NatLang/AutoExplore-Answer-v0", {**EMBEDDED, "search": True, "feedback": "explained"}),
    Case("NatLang/AutoExplore-v0", {**EMBEDDED, "feedback": "explained"}),
    Case("NatLang/AutoExplore-Search-v0", {**EMBEDDED, "feedback": "explained"}),
    Case("NatLang/DangerousTaxi-v0", GENERATED),
    Case("NatLang/AutoExplore-Search-v0", {**EMBEDDED, "order": "ranked", "split": "test"}),
    Case("NatLang/DangerousTaxi-Pickup-v0", GENERATED),
    Case("NatLang/DangerousTaxi-Dropoff-v0", GENERATED),
    Case("NatLang/DangerousTaxi-Pickup-v0", {"split": "train"}),
    Case("NatLang/DangerousTaxi-Dropoff-v0", {**GENERATED, "split": "validation"}),
    Case("NatLang/DangerousTaxi-v0", {**GENERATED, "split": "test", "horizon": 5}),
    Case("NatLang/AutoExplore-v0", {**EMBEDDED, "split": "train"}),
    Case("NatLang/AutoExplore-Depth1-v0", {**EMBEDDED, "split": "validation", "file_budget": 40}),
    Case("NatLang/AutoExplore-Depth2-v0", {**EMBEDDED, "split": "test"}),
    Case("NatLang/AutoExplore-v0", {**EMBEDDED, "split": "train", "file_budget": 40}),
    Case("NatLang/AutoExplore-Search-v0", {**EMBEDDED, "split": "train", "file_budget": 200}),
    Case("NatLang/ALFWorld-v0", {"split": "train", "task_types": ["look_at_obj_in_light", "pick_two_obj_and_place"]}),
    Case("NatLang/ALFWorld-v0", {"split": "test", "grammar": "0.4.2", "horizon": 20}),
    Case("NatLang/ALFWorld-TomatoMicrowave-v0", {"split": "validation"}),
]
BY_NAME = {check.__name__: check for check in CHECKS}
ONE_OF_TWO = ("AutoExplore-v0", "AutoExplore-Search-v0")  # PROCESSES are tried on one environment of AutoExplore
TOO_SHORT = {"plans_succeed"}  # with a horizon of five steps most plans do not fit


def named(case: Case) -> str:
    """Return the id of a case."""
    return "-".join((case.env_id.removeprefix("NatLang/"), *map(str, case.kwargs.values())))[:60]


def _pair(case: Case, check: Check) -> Any:
    """Return a case and a check, as slow where another case of `make test` is much the same."""
    slow = case in SLOW or (check.__name__ in PROCESSES and case.env_id.endswith(ONE_OF_TWO))
    return pytest.param(case, check, id=f"{named(case)}-{check.__name__}", marks=pytest.mark.slow if slow else ())


@pytest.mark.parametrize(("case", "check"), [_pair(case, check) for case in (*QUICK, *SLOW) for check in CHECKS])
def test_environments_of_the_suite_conform(case: Case, check: Check) -> None:
    if case.kwargs.get("horizon") == 5 and check.__name__ in TOO_SHORT:
        with pytest.raises(AssertionError, match="the horizon is 5"):
            check(case)
        return
    no_oracle = "ALFWorld" in case.env_id or "Answer" in case.env_id or case.kwargs.get("order") == "ranked"
    if no_oracle and check.__name__ == "oracle_is_exact":
        with pytest.raises(NotApplicable, match="no exact oracle"):
            check(case)
        return
    check(case)  # nothing else may be inapplicable here: the suite's environments promise everything


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_an_honest_environment_passes(check: Check) -> None:
    case = Case(broken.HONEST)
    if check.__name__.startswith("vector_"):
        with pytest.raises(NotApplicable, match="vector_entry_point"):
            check(case)
    else:
        check(case)


@pytest.mark.parametrize("expected", broken.EXPECTED, ids=lambda expected: f"{expected.env_id.split(':')[1]}")
def test_a_broken_promise_is_caught_by_the_right_check(expected: broken.Expected) -> None:
    with pytest.raises(AssertionError, match=expected.words):
        BY_NAME[expected.check](Case(expected.env_id))


def test_every_check_catches_something() -> None:
    assert {expected.check for expected in broken.EXPECTED} == set(BY_NAME)


def test_a_game_that_any_wrong_command_ends_passes() -> None:
    vector_calls_single_environments(Case("examples.games.post_office:Game/PostOffice-v0"))


def test_gymnasium_alone_passes_what_is_random_from_its_second_step() -> None:
    BY_NAME["passes_check_env"](Case(f"{broken.__name__}:Broken/RandomFromSecondStep-v0"))


class PlainEnv(gymnasium.Env[str, str]):
    """A text environment that knows nothing of natlang_envs: the determinism checks are for it too."""

    def __init__(self, honest: bool = True) -> None:
        self._honest = honest
        self.observation_space = Text(20, charset="0123456789 ")
        self.action_space = Text(3, charset="ab")

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[str, dict[str, Any]]:
        super().reset(seed=seed)
        self._steps = 0
        return str(self.np_random.integers(1000)), {}

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        self._steps += 1
        drawn = self.np_random.integers(1000) if self._honest or self._steps < 2 else random.randrange(1000)
        return str(drawn), 0.0, self._steps == 5, False, {}


gymnasium.register("Plain/Text-v0", f"{__name__}:PlainEnv")


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_any_text_environment_can_be_checked_for_determinism(check: Check) -> None:
    case = Case(f"{__name__}:Plain/Text-v0")
    if check.__module__.endswith("determinism") or check.__name__ == "async_equals_sync":
        check(case)
    else:
        with pytest.raises(NotApplicable):
            check(case)


def test_a_plain_environment_that_draws_globally_is_caught() -> None:
    case = Case(f"{__name__}:Plain/Text-v0", {"honest": False})
    with pytest.raises(AssertionError, match="seed 0 played again"):
        BY_NAME["same_seed_same_episodes"](case)


@pytest.mark.slow
def test_all_checks_of_one_environment_take_less_than_twenty_seconds() -> None:
    # A generous bound on something that takes about three: it catches a check that has become slow, not a slow machine.
    begun = time.process_time()
    for check in CHECKS:
        check(QUICK[0])
    assert time.process_time() - begun < 20


# The command line.


def run_pytest(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command that a user runs, outside the checkout."""
    root = Path(__file__).parents[2]
    plugin = ["-p", "natlang_envs_pytest"] if "natlang_envs_pytest" not in _installed() else []
    command = [sys.executable, "-m", "pytest", "-q", *plugin, "--pyargs", "natlang_envs.conformance"]
    environ = {"PYTHONPATH": str(root), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    with tempfile.TemporaryDirectory() as folder:
        return subprocess.run(
            [*command, "-p", "no:cacheprovider", *arguments],
            capture_output=True,
            encoding="utf-8",
            env=environ,
            cwd=folder,
            timeout=120,
            check=False,
        )


def _installed() -> set[str]:
    from importlib.metadata import entry_points

    return {each.value for each in entry_points(group="pytest11")}


def test_the_command_line_runs_every_check_for_every_id() -> None:
    env = "NatLang/DangerousTaxi-Pickup-v0"
    quick = [check for check in BY_NAME if not any(word in check for word in ("process", "async", "vector"))]
    two = ("--natlang-kwargs", "{}", "--natlang-kwargs", '{"split": "test"}')
    done = run_pytest("--natlang-env", env, *two, "-k", "not (process or async or vector)")
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"{2 * len(quick)} passed, {2 * (len(CHECKS) - len(quick))} deselected" in done.stdout


def test_an_environment_of_the_current_folder_is_found_as_its_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my_package").mkdir()
    example = Path(__file__).parents[2] / "examples" / "guess_number.py"
    (tmp_path / "my_package" / "__init__.py").write_text(example.read_text(encoding="utf-8"))
    command = [str(Path(sys.executable).with_name("pytest")), "-q", "-p", "no:cacheprovider", "-k", "another_process"]
    env = "my_package:Example/GuessNumber-v0"
    done = subprocess.run(
        [*command, "--pyargs", "natlang_envs.conformance", "--natlang-env", env],
        capture_output=True,
        encoding="utf-8",
        cwd=tmp_path,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    monkeypatch.chdir(tmp_path)
    before = list(sys.path)
    assert make_env(env).unwrapped.spec is not None
    assert sys.path == before


def test_the_command_line_fails_for_a_broken_environment() -> None:
    done = run_pytest("--natlang-env", f"{broken.__name__}:Broken/IgnoresSeed-v0", "-k", "same_seed_same_episodes")
    assert done.returncode == 1, done.stdout + done.stderr
    assert "AssertionError: seed 0 played again" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "say which environment to check: --natlang-env ID"),
        (("--natlang-env", "No/Such-v0"), "cannot be made"),
        (("--natlang-env", "no_such_module:No/Such-v0"), "cannot be made"),
        (("--natlang-env", "NatLang/DangerousTaxi-v0", "--natlang-kwargs", "{"), "is not JSON"),
        (("--natlang-env", "NatLang/DangerousTaxi-v0", "--natlang-kwargs", "[]"), "is not a JSON object"),
        (("--natlang-env", "NatLang/DangerousTaxi-v0", "--natlang-kwargs", '{"split": "tset"}'), "unknown split"),
    ],
)
def test_the_command_line_answers_bad_input_in_words(
    arguments: tuple[str, ...], words: str, pytester: pytest.Pytester
) -> None:
    plugin = ("-p", "natlang_envs_pytest") if "natlang_envs_pytest" not in _installed() else ()
    done = pytester.runpytest_inprocess(*plugin, "-p", "no:xdist", "--pyargs", "natlang_envs.conformance", *arguments)
    output = done.stdout.str() + done.stderr.str()
    assert done.ret in (2, 4), output
    assert words in output
    assert "Traceback" not in output


def test_the_plugin_imports_nothing_heavy() -> None:
    code = "import sys, natlang_envs_pytest; print({'gymnasium', 'numpy', 'natlang_envs', 'pytest'} & set(sys.modules))"
    environ = {"PYTHONPATH": str(Path(__file__).parents[2])}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", env=environ, check=True)
    assert done.stdout.strip() == "set()"
