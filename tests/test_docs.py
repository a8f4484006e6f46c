"""What pages say of the repository holds: generated pages, named files, lengths, pictures. Blocks: test_pages."""

from __future__ import annotations

import ast
import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest

import natlang_envs
from tests.pages import FENCE

ROOT = Path(__file__).parents[1]
PAGES = [path for path in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))) if path.exists()]
RESULTS = sorted((ROOT / "benchmarks" / "results").rglob("*.md"))
PATH = re.compile(
    r"`((?:natlang_envs|reference_agent|leaderboard|tests|tools|docs|examples|benchmarks)/[\w./-]*[\w/])`"
)


def name(path: Path) -> str:
    return path.name


@pytest.mark.parametrize("page", ["environments.md", "api.md"])
def test_a_generated_page_is_what_the_docstrings_say(page: str) -> None:
    generated = runpy.run_path(str(ROOT / "docs" / "generate.py"))["PAGES"][page]()
    assert (ROOT / "docs" / page).read_text(encoding="utf-8") == generated, "run: python docs/generate.py"


def test_every_id_has_a_line_on_the_environments_page() -> None:
    written = (ROOT / "docs" / "environments.md").read_text(encoding="utf-8")
    for entry in natlang_envs.ENVIRONMENTS:
        assert f"| `{entry.id}` |" in written


@pytest.mark.parametrize(
    "page", [*PAGES, *RESULTS, *(ROOT / each for each in ("CONTRIBUTING.md", "CHANGELOG.md"))], ids=name
)
def test_named_files_exist(page: Path) -> None:
    named = [ROOT / target for target in PATH.findall(FENCE.sub("", page.read_text(encoding="utf-8")))]
    assert [str(path) for path in named if not path.exists()] == []


def packages() -> list[Path]:
    places = [ROOT / each for each in ("natlang_envs", "reference_agent", "leaderboard", "tools")]
    return sorted(path.parent for place in places for path in place.rglob("__init__.py"))


def map_of(package: Path) -> list[str]:
    """Return the modules that a package's docstring maps: lines of names, two spaces or more, and words."""
    text = ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8"))) or ""
    lines = re.findall(r"^(\w+/?(?:, \w+/?)*) {2,}\S", text, re.MULTILINE)
    return sorted(each.rstrip("/") for line in lines for each in line.split(", ")) if len(lines) > 1 else []


@pytest.mark.parametrize("package", [each for each in packages() if map_of(each)], ids=name)
def test_the_map_of_a_package_names_its_modules(package: Path) -> None:
    files = {path.stem for path in package.glob("*.py")} - {"__init__", "__main__"}
    folders = {path.parent.name for path in package.glob("*/__init__.py")}
    mapped = [each for each in map_of(package) if each != "__main__"]
    assert mapped == sorted(files | folders)


def test_the_large_packages_have_maps() -> None:
    mapped = {each.relative_to(ROOT).as_posix() for each in packages() if map_of(each)}
    assert {"leaderboard", "natlang_envs/evaluation", "natlang_envs/autoexplore", "reference_agent"} <= mapped


@pytest.mark.parametrize("page", RESULTS, ids=name)
def test_a_results_page_begins_with_its_conclusion(page: Path) -> None:
    """Before the first table and heading stand a few sentences, and nothing of how it was measured."""
    text = page.read_text(encoding="utf-8")
    assert text.startswith("# ")
    before = re.split(r"^(?:\||##)", text, maxsplit=1, flags=re.MULTILINE)[0].partition("\n")[2]
    assert 5 <= len(before.split()) <= 130, before
    assert "Written by" not in before


def test_the_readme_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) <= 450
    assert any("pip install" in line for line in text.splitlines()[:30])
    picture = ROOT / "docs" / "episode.gif"
    assert f"docs/{picture.name}" in text
    assert picture.stat().st_size < 150_000


def test_the_picture_of_an_episode_is_drawn(tmp_path: Path) -> None:
    image = pytest.importorskip("PIL.Image")
    module = runpy.run_path(str(ROOT / "docs" / "record_episode.py"))
    moments = module["episode"]()
    assert moments[-1].path[-1] == ("drop off passenger", 20.0)
    module["record"](tmp_path / "episode.gif")
    with image.open(tmp_path / "episode.gif") as drawn:
        assert drawn.n_frames == len(moments)


def test_the_example_agent_plays() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / "agent.py")], capture_output=True, text=True, timeout=120, cwd=ROOT
    )
    assert done.returncode == 0, done.stderr
    found = re.search(r"crow on dangerous-taxi-pickup-cities/v1: success ([\d.]+)%", done.stdout)
    assert found, done.stdout
    # It draws nothing, so it always earns the same: on every second map there is no wall in its way.
    assert found.group(1) == "52.5"
