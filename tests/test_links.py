"""Every relative link of every Markdown page leads to a file of the repository, and its anchor to a heading there."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path, PurePosixPath
from posixpath import normpath
from urllib.parse import unquote

import pytest

ROOT = Path(__file__).parents[1]
FENCE = re.compile(r"^ *(`{3,}|~{3,}).*?^ *\1`*~* *$", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(`+)(?!`).*?(?<!`)\1(?!`)", re.DOTALL)
INLINE = re.compile(r"\]\(\s*(<[^>\n]*>|[^)\s]+)[^)]*\)")  # [text](target "title"), and images
DEFINED = re.compile(r"^ {0,3}\[[^\]]+\]:\s*(\S+)", re.MULTILINE)  # [name]: target
HTML = re.compile(r"""<(?:a|img)\b[^>]*?\b(?:href|src)=["']([^"']+)["']""")
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)\s*#*\s*$", re.MULTILINE)
SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)


def known_to_git(folder: Path) -> frozenset[str]:
    """Return the files that git tracks or would track, as paths from the root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    return frozenset(name for name in done.stdout.split("\0") if name and (folder / name).exists())


def targets(text: str) -> list[str]:
    """Return the targets of a page's links, without those in code."""
    text = CODE.sub("", FENCE.sub("", text))
    found = [match.group(1).strip("<>") for pattern in (INLINE, DEFINED, HTML) for match in pattern.finditer(text)]
    return [target for target in found if not SCHEME.match(target)]


def anchors(text: str) -> set[str]:
    """Return the anchors that GitHub gives the headings of a page."""
    seen: dict[str, int] = {}
    result = set(re.findall(r"""<a\b[^>]*\b(?:id|name)=["']([^"']+)["']""", text))
    for heading in HEADING.findall(FENCE.sub("", text)):
        words = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        slug = re.sub(r"[^\w\- ]", "", words.lower()).replace(" ", "-")
        result.add(f"{slug}-{seen[slug]}" if slug in seen else slug)
        seen[slug] = seen.get(slug, 0) + 1
    return result


def broken(page: str, folder: Path, files: frozenset[str]) -> list[str]:
    """Return the links of a page that lead nowhere."""
    wrong = []
    for target in targets((folder / page).read_text(encoding="utf-8")):
        path, _, anchor = unquote(target).partition("#")
        place = normpath(PurePosixPath(page).parent / path) if path else page
        if place in files:
            if anchor and place.endswith(".md") and anchor not in anchors((folder / place).read_text(encoding="utf-8")):
                wrong.append(target)
        elif anchor or not any(name.startswith(f"{place}/") for name in files):
            wrong.append(target)
    return wrong


@cache
def repository() -> frozenset[str]:
    return known_to_git(ROOT)


def test_every_link_resolves() -> None:
    files = repository()
    if not files:
        pytest.skip("this copy is no git repository")
    pages = sorted(name for name in files if name.endswith(".md"))
    assert {"README.md", "docs/contract.md", "benchmarks/results/table2.md"} <= set(pages)
    wrong = {page: found for page in pages if (found := broken(page, ROOT, files))}
    assert wrong == {}
    assert sum(len(targets((ROOT / page).read_text(encoding="utf-8"))) for page in pages) > 30


@pytest.mark.parametrize(
    ("link", "resolves"),
    [
        ("[a](other.md)", True),
        ("[a](other.md#one--two-things)", True),
        ("[a](other.md#again-1)", True),
        ("[a](#here)", True),
        ("[a](sub/)", True),
        ("[a](https://example.org/none)", True),
        ("`[a](none.md)`", True),
        ("```\n[a](none.md)\n```", True),
        ("[a](none.md)", False),
        ("![a](none.png)", False),
        ("[a](other.md#three)", False),
        ("[a](other.md#in-a-block)", False),
        ("[a](#there)", False),
        ("[a](../outside.md)", False),
        ("[a](<a b.md>)", False),
        ('<img src="none.png">', False),
        ("[a]: none.md", False),
        ("[a](sub#here)", False),
    ],
)
def test_a_broken_link_is_noticed(tmp_path: Path, link: str, resolves: bool) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "page.txt").touch()
    (tmp_path / "other.md").write_text("# One & `two things`\n\n## Again\n\n## Again\n\n```\n# In a block\n```\n")
    (tmp_path / "page.md").write_text(f"# Here\n\n{link}\n")
    files = frozenset({"page.md", "other.md", "sub/page.txt"})
    assert (broken("page.md", tmp_path, files) == []) is resolves
