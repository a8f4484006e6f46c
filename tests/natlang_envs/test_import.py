"""Importing the suite is cheap and brings nothing heavy along, and its packages depend on each other one way."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "natlang_envs"
LIBRARIES = ("torch", "transformers", "pydantic", "typer", "rich", "jinja2", "matplotlib", "pygame")
HEAVY = (*LIBRARIES, "leaderboard", "reference_agent")
PACKAGES = [folder.name for folder in CORE.iterdir() if (folder / "env.py").exists()]


def python(code: str) -> str:
    """Run code in a fresh interpreter and return what it prints."""
    environ = {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], env=environ, capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def imports(path: Path) -> Iterator[str]:
    """Yield the name of every module that a file imports, inside functions too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} has a relative import"
            yield str(node.module)


def test_importing_the_suite_brings_nothing_heavy_along() -> None:
    assert python(f"import sys, natlang_envs; print([name for name in {HEAVY} if name in sys.modules])") == "[]"


def test_importing_the_suite_adds_a_fraction_of_what_gymnasium_and_pettingzoo_take() -> None:
    code = """
from time import process_time
start = process_time()
import gymnasium, pettingzoo
base = process_time()
import natlang_envs
print((process_time() - base) / (base - start))
"""
    # A ratio of processor times in one run, so that a busy machine does not decide. It is about 0.1.
    assert min(float(python(code)) for _ in range(3)) < 0.3


def test_gymnasium_finds_an_id_by_its_module() -> None:
    code = """
import gymnasium
env = gymnasium.make("natlang_envs:NatLang/DangerousTaxi-Pickup-v0")
print(env.reset(seed=0)[1]["task"])
"""
    assert python(code).startswith("Drive to the passenger")


def test_pettingzoo_finds_an_id_after_the_import() -> None:
    code = """
import pettingzoo, natlang_envs
if hasattr(pettingzoo, "make"):
    print(pettingzoo.make("aec", "NatLang/DangerousTaxi-v0").possible_agents)
else:
    from natlang_envs.two_player import aec_env
    print(aec_env("NatLang/DangerousTaxi-v0").possible_agents)
"""
    assert python(code) == "['reflector_0', 'policy_0']"


@pytest.mark.parametrize("module", ["trajectory", "two_player", "evaluation", "conformance", "dangerous_taxi.vector"])
def test_any_part_can_be_imported_first(module: str) -> None:
    python(f"import natlang_envs.{module}")  # a circular import or a second registration would say so


def test_names_of_the_encoders_stand_in_the_package_of_learners() -> None:
    assert python("from natlang_envs.learners import TextEncoder; print(TextEncoder.__module__)").endswith(".encoders")


def test_arrows_run_down_only() -> None:
    for path in sorted(CORE.rglob("*.py")):
        imported = set(imports(path))
        tops = {name.partition(".")[0] for name in imported}
        above = {"torch", "transformers", "tokenizers", "pydantic", "leaderboard", "reference_agent", "tests"}
        assert not tops & above, path
        home = path.relative_to(CORE).parts[0]
        if home == "cli":  # at the top: a command is about an environment
            continue
        known = {home, "autoexplore"} if home == "change" else {home}  # changes build on AutoExplore
        others = {f"natlang_envs.{package}" for package in PACKAGES if package not in known}
        crossing = {name for name in imported if any(name == each or name.startswith(f"{each}.") for each in others)}
        assert not crossing, f"{path} imports another environment's package"


def test_the_leaderboard_never_imports_the_agent() -> None:
    for path in (ROOT / "leaderboard").rglob("*.py"):
        tops = {name.partition(".")[0] for name in imports(path)}
        assert not tops & {"torch", "transformers", "reference_agent"}, path


def test_datasets_is_no_package() -> None:
    # It would shadow the Hugging Face library for anyone who runs from the checkout.
    assert not (ROOT / "datasets" / "__init__.py").exists()


def test_there_is_an_environment_package_to_look_at() -> None:
    assert "dangerous_taxi" in PACKAGES
