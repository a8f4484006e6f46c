"""The documentation as a site: it builds without a warning, its links hold, a real browser searches it."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

from tests.chromium import beyond, needs_chromium, rendered, scripted

ROOT = Path(__file__).parents[1]
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("documentation site")]  # one process builds it


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("sphinx", reason="Sphinx is not installed: pip install -e '.[docs]'")
    out = tmp_path_factory.mktemp("docs") / "site"
    begun = sum(os.times()[:4])  # processor time: other work on the machine does not count
    done = subprocess.run(
        [sys.executable, str(ROOT / "docs/site.py"), str(out), "board/index.html"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    assert sum(os.times()[:4]) - begun < 120
    (out / "board").mkdir()
    (out / "board/index.html").touch()  # `make docs` builds the leaderboard there
    return out


class Addresses(HTMLParser):
    """Collects what a page links to and loads, and the places in it that can be linked to."""

    def __init__(self, page: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.loaded: list[str] = []
        self.places: set[str] = set()
        self.feed(page.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.places |= {given.get("id") or ""}
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")
        elif tag in ("img", "script") and given.get("src"):
            self.loaded.append(given["src"] or "")
        elif tag == "link" and given.get("rel") == "stylesheet":
            self.loaded.append(given["href"] or "")


def test_tests_that_share_what_is_costly_are_run_by_one_process(request: pytest.FixtureRequest) -> None:
    if not request.config.getoption("loadgroup", False):
        pytest.skip("not a process of pytest -n N --dist loadgroup")
    assert request.node.nodeid.endswith("@documentation site"), "these pytest and pytest-xdist do not group tests"


def broken(site: Path) -> Iterator[str]:
    pages = {page: Addresses(page) for page in site.rglob("*.html")}
    for page, found in pages.items():
        for address in (*found.links, *found.loaded):
            if re.match(r"\w+:", address):
                continue
            name, place = urldefrag(address)
            name = name.partition("?")[0]
            there = (page.parent / unquote(name)).resolve() if name else page
            if not there.exists() or (place and there in pages and unquote(place) not in pages[there].places):
                yield f"{page.relative_to(site)}: {address}"


def test_no_link_is_broken(site: Path) -> None:
    assert list(broken(site)) == []


def test_every_family_has_a_page_with_a_picture_a_game_and_scores(site: Path) -> None:
    for name in ("dangerous_taxi", "autoexplore", "alfworld"):
        page = (site / f"docs/{name}.html").read_text(encoding="utf-8")
        for words in ("The beginning of a game", "success: True", "Starting State", "95% interval", ">random<"):
            assert words in page, (name, words)


def test_the_sidebar_names_each_thing_once_and_links_to_the_board(site: Path) -> None:
    page = (site / "index.html").read_text(encoding="utf-8")
    tree = page.partition('class="sidebar-tree"')[2].partition("</aside>")[0]
    named = re.findall(r'<a class="reference \w+" href="([^"]+)">(.*?)</a>', tree)
    assert len({where for where, _ in named}) == len({words for _, words in named}) == len(named) > 16
    for name, address in (("index", "board"), ("docs/dev/architecture", "../../board")):
        text = (site / f"{name}.html").read_text(encoding="utf-8")
        assert f'<a href="{address}/index.html">Leaderboard</a>' in text


def test_the_api_has_signatures_arguments_results_errors_and_sources(site: Path) -> None:
    page = (site / "docs/api.html").read_text(encoding="utf-8")
    entry = page.partition('id="natlang_envs.evaluation.evaluate"')[2].partition('<dl class="py')[0]
    for words in ("concurrency", "Parameters", "Returns", "Raises", "UsageError", "_modules/natlang_envs/evaluation/"):
        assert words in entry, words
    signature = page.partition('id="natlang_envs.autoexplore.AutoExploreEnv"')[2].partition("</dt>")[0]
    assert "wording" in signature


def test_blocks_have_a_button_that_copies_them(site: Path) -> None:
    for page in ("index.html", "docs/start.html"):
        assert "_static/copy.js" in (site / page).read_text(encoding="utf-8")


def test_the_first_page_is_light_and_asks_nobody_else(site: Path) -> None:
    page = site / "index.html"
    loaded = [address.partition("?")[0] for address in Addresses(page).loaded]
    assert not [address for address in loaded if re.match(r"\w+:|//", address)]
    sizes = [page.stat().st_size, *((site / address).stat().st_size for address in loaded)]
    assert sum(sizes) <= 500_000


@needs_chromium
def test_a_browser_reads_and_searches_it_without_a_server(site: Path, tmp_path: Path) -> None:
    first = rendered(site / "index.html", tmp_path / "profile")
    assert "Text environments for reinforcement learning" in first
    assert "copy</button>" in first
    assert "episode.gif" in first
    found = rendered(site / "search.html", tmp_path / "profile", "?q=bubblewrap", wait=4_000)
    assert "docs/dev/sandbox.html" in found


@needs_chromium
def test_a_console_block_is_copied_without_its_prompts(site: Path, tmp_path: Path) -> None:
    press = """addEventListener("load", () => {
      navigator.clipboard.writeText = async (text) => { document.title = JSON.stringify(text); };
      document.querySelector("div.highlight-console button.copy").click();
    });"""
    shown = rendered(scripted(site / "docs/own_repository.html", press), tmp_path / "profile", wait=2_000)
    title = re.findall(r"<title>(.*?)</title>", shown)[0]
    copied = json.loads(html.unescape(title))
    assert copied == 'natlang explore --repo natlang_envs "where is the success rate\'s interval computed?"'


@needs_chromium
@pytest.mark.parametrize(
    "page", ["index", "docs/api", "docs/protocols", "docs/dangerous_taxi", "benchmarks/results/gain"]
)
def test_pages_fit_a_phone(page: str, site: Path, tmp_path: Path) -> None:
    assert beyond(site / f"{page}.html", tmp_path / "profile") == []
