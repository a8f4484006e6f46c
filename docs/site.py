"""Build the documentation as a site that needs no server: `make docs`, or `python docs/site.py FOLDER`.

The pages are the Markdown files of the repository. What is made here: a page for each environment (its class docstring,
a picture, a game, the scores of its baselines), the table of contents, and copies of the files that pages link to. A
warning of Sphinx's ends the build.
"""

from __future__ import annotations

import inspect
import json
import re
import runpy
import shutil
import sys
import tempfile
import textwrap
from collections.abc import Iterator
from functools import partial
from importlib import metadata
from pathlib import Path
from urllib.parse import unquote

import gymnasium
from gymnasium.envs.registration import load_env_creator
from PIL import Image, ImageDraw
from sphinx.application import Sphinx

from natlang_envs import unwrap
from natlang_envs.registration import ENVIRONMENTS

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)")
CONTENTS = {
    "Tutorials": [
        "docs/first_agent",
        "docs/endpoint",
        "docs/agent_library",
        "docs/new_environment",
        "docs/own_repository",
        "docs/submit",
        "docs/scale_out",
        "docs/libraries",
    ],
    "Environments": ["docs/environments", "environments/*", "docs/autoexplore", "docs/alfworld", "docs/sandbox"],
    "Guides": ["docs/contract", "docs/two_players", "docs/evaluation", "docs/faults", "datasets/autoexplore/README"],
    "Leaderboard": ["docs/leaderboard", "docs/leaderboard_policy"],
    "Reflect-RL": ["docs/algorithm", "docs/agent_*"],
    "Results": ["benchmarks/results/*", "benchmarks/results/notes/*"],
    "Reference": ["docs/api", "docs/walk", "CONTRIBUTING", "CHANGELOG"],
}
PICTURE = (860, 420)


def build(out: Path) -> None:
    """Write the site into a folder; whatever lies there is replaced.

    Raises:
        SystemExit: Sphinx warned or failed.
    """
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary, "source")
        _copy_pages(source)
        for name in dict.fromkeys(entry.entry_point for entry in ENVIRONMENTS):
            _environment_page(source / "environments", name)
        _index(source)
        app = Sphinx(
            source, None, out, Path(temporary, "doctrees"), "html", _settings(), warningiserror=True, status=None
        )
        app.build()
        if app.statuscode:
            raise SystemExit(app.statuscode)


def _settings() -> dict[str, object]:
    return {
        "project": "natlang_envs",
        "version": metadata.version("natlang-envs"),
        "author": "natlang_envs",
        "language": "en",
        "smartquotes": False,
        "extensions": ["myst_parser"],
        "myst_heading_anchors": 4,
        "suppress_warnings": ["misc.highlighting_failure"],
        "html_theme": "furo",
        "html_title": "natlang_envs",
        "html_copy_source": False,
        "html_show_copyright": False,
        "html_show_sphinx": False,
        "exclude_patterns": ["**/files/**"],
    }


def _copy_pages(source: Path) -> None:
    """Copy the pages, and the files that they link to."""
    wanted = [ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "datasets/autoexplore/README.md")]
    pages = [*wanted, *(ROOT / "docs").glob("*.md"), *(ROOT / "benchmarks/results").rglob("*.md")]
    names = {path.relative_to(ROOT) for path in pages} | {Path("README.md")}
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8")
        target = source / ("index.md" if name == Path("README.md") else name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(LINK.sub(partial(_link, name, names, source), text), encoding="utf-8")


def _link(page: Path, pages: set[Path], source: Path, found: re.Match[str]) -> str:
    """Return the end of a link in a page; what it leads to is copied unless it is a page itself."""
    address = found[1]
    there = (ROOT / page.parent / unquote(address)).resolve()
    name = there.relative_to(ROOT)
    if name == Path("README.md"):
        return f"]({'../' * len(page.parent.parts)}index.md"
    if name in pages:
        return f"]({address}"
    if there.is_dir():
        listing = source / "files" / name / "listing.txt"
        listing.parent.mkdir(parents=True, exist_ok=True)
        listing.write_text("\n".join(sorted(each.name for each in there.iterdir())) + "\n", encoding="utf-8")
        return f"]({'../' * len(page.parent.parts)}{listing.relative_to(source).as_posix()}"
    picture = there.suffix in {".png", ".gif", ".svg"}
    copy = source / (name if picture else Path("files") / f"{name}{'.txt' if name.suffix == '.md' else ''}")
    copy.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(there, copy)
    return f"]({'../' * len(page.parent.parts)}{copy.relative_to(source).as_posix()}"


def _environment_page(folder: Path, entry_point: str) -> None:
    """Write the page of a class: its docstring, a picture, a game and what the baselines score."""
    folder.mkdir(exist_ok=True)
    creator = load_env_creator(entry_point)
    ids = [entry for entry in ENVIRONMENTS if entry.entry_point == entry_point]
    name = ids[0].id.removeprefix("NatLang/").partition("-")[0]
    docstring = (inspect.getdoc(creator) or "").rstrip()
    head, _, rest = docstring.partition("\n## ")
    env = unwrap(gymnasium.make(min((each.id for each in ids), key=len), disable_env_checker=True))
    transcript = list(_game(env))
    _picture(folder / f"{name}.png", transcript)
    lines = [f"# {name}", "", head.strip(), "", f"![The beginning of a game]({name}.png)", "", "Registered as", ""]
    lines += [f"- `{each.id}`: {each.summary}" for each in ids]
    lines += ["", f"## {rest}", "", "## A game", "", "The environment's own plan, step by step:", ""]
    lines += ["```text", *transcript, "```", "", "## Baselines", "", *_scores({each.id for each in ids})]
    (folder / f"{name}.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _game(env: object) -> Iterator[str]:
    env = unwrap(env)  # type: ignore[arg-type]
    observation, info = env.reset(seed=0)
    yield info["task"]
    yield from ["", *observation.splitlines()]
    for command in env.reference():
        observation, reward, *_, info = env.step(command)
        yield from ["", f"> {command}", f"{info['feedback'].partition(chr(10))[0]}  [reward {reward:g}]"]
    yield f"success: {info['success']}"


def _picture(path: Path, transcript: list[str]) -> None:
    """Draw the beginning of a game as it looks on a terminal."""
    font = runpy.run_path(str(ROOT / "docs/record_episode.py"))["font"]
    image = Image.new("RGB", PICTURE, "#1b1f27")
    pen = ImageDraw.Draw(image)
    shown = [part for line in transcript for part in (textwrap.wrap(line, 100) or [""])]
    for number, line in enumerate(shown[:21]):
        pen.text((16, 14 + 19 * number), line, font=font(13), fill="#8ab4f8" if line.startswith(">") else "#e6e6e6")
    image.save(path, optimize=True)


def _scores(ids: set[str]) -> Iterator[str]:
    """Yield the table of the environment's built-in players, from the leaderboard's ledger."""
    ledger = json.loads((ROOT / "leaderboard/ledger.json").read_text(encoding="utf-8"))
    players = ("random", "random-legal", "oracle", "expert", "reference", "bm25")
    yield from ["| protocol | player | success (95% interval) | mean steps |", "|---|---|---|---|"]
    for entry, said in sorted(ledger.items()):
        protocol, _, player = entry.rpartition("/")
        if said["env_id"] in ids and player in players:
            low, high = (f"{100 * said[each]:.0f}" for each in ("low", "high"))
            rate = f"{100 * said['success_rate']:.0f}% ({low} to {high})"
            yield f"| {protocol} | {player} | {rate} | {said['mean_steps']:.1f} |"


def _index(source: Path) -> None:
    """Append the table of contents to the first page."""
    lines: list[str] = []
    for title, patterns in CONTENTS.items():
        found = [page for pattern in patterns for page in sorted(source.glob(f"{pattern}.md"))]
        names = dict.fromkeys(page.relative_to(source).with_suffix("").as_posix() for page in found)
        lines += ["", "```{toctree}", ":hidden:", f":caption: {title}", "", *names, "```"]
    index = source / "index.md"
    index.write_text(index.read_text(encoding="utf-8") + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
