"""Build the documentation as a site that needs no server: `make docs`, or `python docs/site.py FOLDER [BOARD]`.

The pages are the Markdown files of the repository. What is made here: a picture, a game and the scores of the baselines
for the page of each environment, signatures and sources of the public names, the table of contents, and copies of the
files that pages link to. BOARD is the address of the leaderboard's site, as the folder's pages reach it. A warning of
Sphinx's ends the build.
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
from importlib import import_module, metadata
from pathlib import Path
from urllib.parse import unquote

import gymnasium
from PIL import Image, ImageDraw
from sphinx.application import Sphinx
from sphinx.util.inspect import signature, stringify_signature

from natlang_envs import NatLangEnv, unwrap
from natlang_envs.registration import Registration

ROOT = Path(__file__).parents[1]
BACK = re.compile(r'<a class="viewcode-back" href="[^"]*">\[docs\]</a>')
LINK = re.compile(r"\]\((?!\w+:|#)([^)\s#]+)")
GENERATED = runpy.run_path(str(ROOT / "docs/generate.py"))
CONTENTS = {
    "Begin": ["docs/start", "docs/evaluate", "docs/submit", "docs/own_repository", "docs/new_environment"],
    "Environments": ["docs/dangerous_taxi", "docs/autoexplore", "docs/alfworld", "docs/libraries", "docs/contract"],
    "Scores": ["docs/protocols", "docs/leaderboard_policy", "datasets/autoexplore/README"],
    "Reflect-RL": ["docs/reflect_rl", "docs/reflect_rl_library", "docs/algorithm"],
    "Reference": ["docs/api", "CHANGELOG"],
    "Results": ["benchmarks/results/README", "benchmarks/results/*"],
    "Development": ["CONTRIBUTING", "docs/dev/*"],
}
PICTURE = (860, 420)
# The project's addresses, by their names in `[project.urls]`.
ADDRESSES = dict(each.split(", ", 1) for each in metadata.metadata("natlang-envs").get_all("Project-URL") or ())
SIDEBAR = ("brand", "search", "addresses", "scroll-start", "navigation", "scroll-end")
LINKS = """<div class="addresses">{% for name, where in addresses.items() %}
<a href="{{ where if "://" in where else pathto(where, resource=True) }}">{{ name }}</a>{% endfor %}</div>
"""
# A button that copies a block; of a console block only the commands, without their prompts.
COPY = """document.querySelectorAll("div.highlight").forEach((block) => {
  if (block.closest(".highlight-text")) return;
  const button = document.createElement("button");
  button.className = "copy";
  button.textContent = "copy";
  button.onclick = async () => {
    const lines = block.querySelector("pre").innerText.trimEnd().split("\\n");
    await navigator.clipboard.writeText(lines.map((line) => line.replace(/^\\$ /, "")).join("\\n"));
    button.textContent = "copied";
    setTimeout(() => (button.textContent = "copy"), 1500);
  };
  block.append(button);
});
"""
LOOK = """.addresses { padding: .5rem var(--sidebar-item-spacing-horizontal) 0; display: flex; gap: 1rem; }
div.highlight { position: relative; }
button.copy { position: absolute; top: .3rem; right: .3rem; padding: .1rem .5rem; border: 1px solid;
  border-radius: .2rem; font: inherit; font-size: .75rem; cursor: pointer;
  color: var(--color-foreground-muted); background: var(--color-code-background); }
"""


def build(out: Path, board: str = "") -> None:
    """Write the site into a folder; whatever lies there is replaced.

    Args:
        out: The folder.
        board: The address of the leaderboard's site; empty where there is none.

    Raises:
        SystemExit: Sphinx warned or failed.
    """
    shutil.rmtree(out, ignore_errors=True)
    with tempfile.TemporaryDirectory() as temporary:
        source = Path(temporary, "source")
        _copy_pages(source)
        pages = {name: entries for name, entries in GENERATED["families"]().items() if "-" not in name}
        for name, entries in pages.items():
            _add_game(source / "docs" / f"{name}.md", entries)
        _write_api(source / "docs/api.md")
        _index(source)
        app = Sphinx(
            source, None, out, Path(temporary, "doctrees"), "html", _settings(board), warningiserror=True, status=None
        )
        app.connect("autodoc-process-docstring", _as_sphinx_reads)
        app.connect("autodoc-process-signature", _of_init)
        app.connect("autodoc-skip-member", _is_field)
        app.connect("html-page-context", _without_ways_back)
        app.build()
        if app.statuscode:
            raise SystemExit(app.statuscode)


def _settings(board: str) -> dict[str, object]:
    addresses = {"Leaderboard": board, **ADDRESSES}
    return {
        "project": "natlang_envs",
        "version": metadata.version("natlang-envs"),
        "author": "natlang_envs",
        "language": "en",
        "smartquotes": False,
        "extensions": ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"],
        "default_role": "code",  # our docstrings write names between single backquotes
        "autodoc_member_order": "bysource",
        "autodoc_typehints": "signature",
        "autodoc_typehints_format": "short",
        "napoleon_use_rtype": False,
        "napoleon_use_ivar": True,
        "html_static_path": ["_static"],
        "html_js_files": ["copy.js"],
        "html_css_files": ["look.css"],
        "templates_path": ["_templates"],
        "html_context": {"addresses": {name: where for name, where in addresses.items() if where}},
        "html_sidebars": {"**": [f"sidebar/{each}.html" for each in SIDEBAR]},
        "html_theme_options": {"source_repository": ADDRESSES["Repository"], "source_branch": "main"}
        if "Repository" in ADDRESSES
        else {},
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
    wanted = [ROOT / name for name in ("CONTRIBUTING.md", "CHANGELOG.md", "datasets/autoexplore/README.md")]
    pages = [*wanted, *(ROOT / "docs").rglob("*.md"), *(ROOT / "benchmarks/results").glob("*.md")]
    names = {path.relative_to(ROOT) for path in pages} | {Path("README.md")}
    for name in names:
        text = (ROOT / name).read_text(encoding="utf-8")
        target = source / ("index.md" if name == Path("README.md") else name)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(LINK.sub(partial(_link, name, names, source), text), encoding="utf-8")
    added = {"static/copy.js": COPY, "static/look.css": LOOK, "templates/sidebar/addresses.html": LINKS}
    for file, text in added.items():
        (source / f"_{file}").parent.mkdir(parents=True, exist_ok=True)
        (source / f"_{file}").write_text(text, encoding="utf-8")


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


def _add_game(page: Path, entries: list[Registration]) -> None:
    """Add to the page of an environment a picture, a game and what the baselines score."""
    env = unwrap(gymnasium.make(min((each.id for each in entries), key=len), disable_env_checker=True))
    transcript = list(_game(env))
    _picture(page.with_suffix(".png"), transcript)
    title, _, text = page.read_text(encoding="utf-8").partition("\n")
    lines = [title, "", f"![The beginning of a game]({page.stem}.png)", text, "## A game", ""]
    lines += ["The environment's own plan, step by step:", "", "```text", *transcript, "```"]
    lines += ["", "## Baselines", "", *_scores({each.id for each in entries})]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_api(page: Path) -> None:
    lines = ["# API", "", "Everything else is internal and may change without notice."]
    shown: set[int] = set()
    for name, names in GENERATED["public_names"]():
        module = import_module(name)
        first = (inspect.getdoc(module) or "").partition("\n")[0]
        lines += ["", f"## `{name}`", "", first, "", "```{eval-rst}"]
        for each in names:
            thing = getattr(module, each)
            if id(thing) in shown:  # another package shows it too
                continue
            kind = "class" if inspect.isclass(thing) else "function" if inspect.isfunction(thing) else "data"
            kind = "exception" if kind == "class" and issubclass(thing, BaseException) else kind
            lines += [f".. auto{kind}:: {name}.{each}"]
            if kind in ("class", "exception"):
                lines += ["   :members:"]
            if kind == "data":
                lines += ["   :no-value:"]
            lines += [""]
            shown.add(id(thing))
        lines += ["```"]
    page.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _as_sphinx_reads(app: object, what: str, name: str, obj: object, options: object, lines: list[str]) -> None:
    """Make blocks of code directives, and keep what stands above an environment's headings: its page has the rest."""
    if what == "data":  # else it would be that of its type
        lines[:] = [f"A `{type(obj).__name__}`."]
    headings = [at for at, line in enumerate(lines) if line.startswith("## ")]
    if headings:
        del lines[headings[0] :]
    inside = False
    for at, line in enumerate(lines):
        fence = line.lstrip().startswith("```")
        inside ^= fence
        if fence:
            lines[at] = line.replace("```python", ".. code-block:: python\n") if inside else ""
        elif inside:
            lines[at] = f"   {line}"
    lines[:] = "\n".join(lines).split("\n")


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


def _of_init(app: object, what: str, name: str, obj: type, *_: object) -> tuple[str, None] | None:
    """Return the signature of a class as `__init__` has it: `NatLangEnv.__new__` takes anything."""
    if what != "class" or not issubclass(obj, NatLangEnv):
        return None
    return stringify_signature(signature(obj.__init__, bound_method=True), unqualified_typehints=True), None


def _without_ways_back(app: object, name: str, template: str, context: dict[str, object], doctree: object) -> None:
    """Take the links back out of the pages of sources: they guess the package that a name is described in."""
    if name.startswith("_modules/"):
        context["body"] = BACK.sub("", str(context["body"]))


def _is_field(app: object, what: str, name: str, obj: object, skip: bool, options: object) -> bool | None:
    """Leave out a field of a named tuple, which the class describes; None leaves the choice to others."""
    return True if (inspect.getdoc(obj) or "").startswith("Alias for field number") else None


def _index(source: Path) -> None:
    lines: list[str] = []
    for title, patterns in CONTENTS.items():
        found = [page for pattern in patterns for page in sorted(source.glob(f"{pattern}.md"))]
        names = list(dict.fromkeys(page.relative_to(source).with_suffix("").as_posix() for page in found))
        lines += ["", "```{toctree}", ":hidden:", f":caption: {title}", "", *names, "```"]
    index = source / "index.md"
    index.write_text(index.read_text(encoding="utf-8") + "\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    build(Path(sys.argv[1]), *sys.argv[2:3])
