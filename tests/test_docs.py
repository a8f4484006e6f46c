"""What pages say of the repository holds: generated pages, named files, lengths, pictures. Blocks: test_pages."""

from __future__ import annotations

import ast
import inspect
import io
import re
import runpy
import subprocess
import sys
import tomllib
from importlib import import_module
from pathlib import Path

import pytest

from natlang_envs.cli.support import EXTRAS
from tests.pages import FENCE
from tests.support.here import run_here
from tests.support.slow import TORCH

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
RESULTS = sorted((ROOT / "benchmarks" / "results").rglob("*.md"))
PATH = re.compile(
    r"`((?:natlang_envs|reference_agent|leaderboard|tests|tools|docs|examples|benchmarks)/[\w./-]*[\w/])`"
)


def name(path: Path) -> str:
    return path.name


GENERATED = runpy.run_path(str(ROOT / "docs" / "generate.py"))


@TORCH  # one page is of the agent's public names
@pytest.mark.parametrize("page", GENERATED["pages"](), ids=name)
def test_the_made_parts_of_a_page_are_what_the_code_says(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == GENERATED["generated"](text), "run: python docs/generate.py"


def test_every_part_that_is_made_stands_on_one_page() -> None:
    texts = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert sorted(re.findall(r"^<!-- made: ([\w-]+) -->$", texts, re.MULTILINE)) == sorted(GENERATED["PARTS"])


@pytest.mark.parametrize(("module", "names"), list(GENERATED["public_names"]()), ids=lambda given: str(given)[:40])
def test_every_public_name_and_method_has_a_docstring(module: str, names: list[str]) -> None:
    for public in names:
        thing = getattr(import_module(module), public)
        if not inspect.isclass(thing):
            continue
        assert inspect.getdoc(thing), public
        for method, defined in vars(thing).items():
            if inspect.isroutine(defined) or isinstance(defined, property):
                assert method.startswith("_") or inspect.getdoc(getattr(thing, method)), f"{public}.{method}"


def test_the_readme_names_each_family_and_its_page() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    linked = re.findall(r"^\| \[\w+\]\(docs/(\w+)\.md\) \|", text, re.MULTILINE)
    assert linked == [name for name in GENERATED["families"]() if "-" not in name]  # the others are parts of a page


def test_every_extra_has_a_line_that_says_what_it_is_for() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert {*EXTRAS, *GENERATED["OWN_EXTRAS"]} == set(project["optional-dependencies"])


def test_every_command_of_the_help_has_a_line() -> None:
    text = (ROOT / "docs" / "start.md").read_text(encoding="utf-8")
    done = run_here("natlang", "--help")
    listed = re.findall(r"^\W+([a-z][\w-]+) {2,}[A-Z]", done.stdout.partition("Commands")[2], re.MULTILINE)
    assert "serve" in listed
    assert [each for each in listed if f"| `natlang {each}` |" not in text] == []


def test_users_have_sixteen_pages() -> None:
    assert len(list((ROOT / "docs").glob("*.md"))) <= 16


def test_the_walk_passes_each_package_once() -> None:
    text = (ROOT / "docs" / "dev" / "architecture.md").read_text(encoding="utf-8")
    passed = re.findall(r"\*\*`([\w/]+)`\*\*", text)
    assert sorted(passed) == sorted(each.relative_to(ROOT).as_posix() for each in packages())


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
    assert any("pip install" in line for line in text.splitlines()[:12])
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
    # It draws nothing, so it always earns the same: on five maps of eight there is no wall in its way.
    assert found.group(1) == "62.5"


@TORCH
def test_docstrings_of_public_names_are_what_sphinx_reads_without_a_warning() -> None:
    napoleon = pytest.importorskip("sphinx.ext.napoleon", reason="Sphinx is not installed: pip install -e '.[docs]'")
    from docutils.core import publish_doctree

    read = runpy.run_path(str(ROOT / "docs" / "site.py"))["_as_sphinx_reads"]
    things = [getattr(import_module(module), each) for module, names in GENERATED["public_names"]() for each in names]
    documented = [each for each in things if inspect.isclass(each) or inspect.isfunction(each)]
    documented += [
        each
        for thing in documented
        if inspect.isclass(thing)
        for name, each in vars(thing).items()
        if not name.startswith("_") and (inspect.isfunction(each) or isinstance(each, property | classmethod))
    ]
    settings = napoleon.Config(napoleon_use_rtype=False, napoleon_use_ivar=True)
    text = [".. default-role:: code", ""]
    for each in documented:
        if each.__doc__:
            kind = "class" if inspect.isclass(each) else "function"
            docstring = napoleon.GoogleDocstring(inspect.cleandoc(each.__doc__), settings, what=kind, obj=each)
            lines = str(docstring).split("\n")
            read(None, kind, "", each, None, lines)
            text += [f".. {each}", "", *lines, ""]
    warnings = io.StringIO()
    publish_doctree("\n".join(text), settings_overrides={"warning_stream": warnings, "report_level": 2})
    at = re.match(r"<string>:(\d+):", warnings.getvalue())
    assert at is None, (warnings.getvalue(), text[int(at[1]) - 20 : int(at[1])])
