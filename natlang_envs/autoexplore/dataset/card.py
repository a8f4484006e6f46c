"""The dataset card: its template with what the labels say filled in."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Sequence
from functools import partial
from importlib import resources

from natlang_envs.autoexplore.answering.keys import shipped_keys
from natlang_envs.autoexplore.dataset.blind_review import (
    agreement,
    completeness,
    fresh_reading_file,
    known_reading_file,
    read_readings,
    readings_file,
)
from natlang_envs.autoexplore.dataset.catalogue import COFFEE, catalogue
from natlang_envs.autoexplore.dataset.labels import PARTS, WORDINGS, Label, Wording
from natlang_envs.autoexplore.dataset.report import (
    Parts,
    bm25_right,
    counts,
    rates,
    searcher_rows,
    seen_by_players,
    wordings_of,
)
from natlang_envs.autoexplore.dataset.shipped import RESTRICTIONS, VALIDATION
from natlang_envs.autoexplore.episode import HORIZON
from natlang_envs.tasks import SPLITS

_META = re.compile(
    r"^[^/]+\.(md|rst|txt|toml|cfg|ini|ya?ml|in|py)$|^[^/.]+$|^\."
    r"|(^|/)(ci|requirements|scripts?|news|whatsnew)(/|\.|$)"
    r"|contribut|changelog|release|(^|/)(history|authors|news|changes|security|licen[cs]e|copyright|faq)[^/]*$",
    re.IGNORECASE,
)  # paths: top-level files of a project, hidden ones, CI and its scripts, changes and releases, licences


def is_about_project(label: Label) -> bool:
    """Return whether the nearest target is about the project itself, judged by its path."""
    nearest = min(label.targets, key=lambda path: (path.count("/"), path))
    return label.repository != COFFEE and bool(_META.search(nearest))


def card(parts: Parts, source_digest: str, *, own: bool = False) -> str:
    """Return the card of the dataset, or the shorter one of labels of a user's own."""
    everything = {label.id: label for labels in parts.values() for label in labels}
    values = {
        "labels": f"{len(everything):,}",
        "data_files": "\n".join(
            f"      - split: {part}\n        path: {part}.parquet" for part, labels in parts.items() if labels
        ),
        "size": _size(len(everything)),
        "digest": source_digest,
    }
    if own:
        return _filled("own_card.md", values)
    files = (None, fresh_reading_file(), known_reading_file())
    full, fresh, known = (completeness(everything, file) for file in files)
    keys = shipped_keys()
    values |= {
        "by_part": ", ".join(f"{part} {len(labels)}" for part, labels in parts.items()),
        "data_share": f"{sum(each.kind == 'data' for each in everything.values()) / (len(everything) or 1):.0%}",
        "repositories": str(len({label.repository for label in everything.values()})),
        "licences": _licences({label.repository for label in everything.values()}),
        "restrictions": _restrictions(everything.values()),
        "by_repository": _counted(parts, lambda label: label.repository, order=catalogue()),
        "by_depth": _counted(
            parts, lambda label: f"depth {label.depth}", order=[f"depth {depth}" for depth in range(HORIZON)]
        ),
        "by_kind": _counted(parts, lambda label: label.kind),
        "by_difficulty": _counted(parts, lambda label: label.difficulty),
        "searchers": _searchers(parts),
        "slices": _slices(parts),
        "targets_found": str(full.found),
        "files_further": str(full.further),
        "fresh_found": str(fresh.found),
        "fresh_further": str(fresh.further),
        "known_found": str(known.found),
        "known_further": str(known.further),
        "known_validation": str(VALIDATION),
        "keys": f"{len(keys):,}",
        "keys_by_part": ", ".join(
            f"{part} {sum(label.id in keys for label in labels)}" for part, labels in parts.items() if part in SPLITS
        ),
        "agreement": str(agreement(read_readings(readings_file()), everything)),
    }
    return _filled("dataset_card.md", values)


def _filled(name: str, values: dict[str, str]) -> str:
    text = resources.files("natlang_envs.autoexplore.dataset").joinpath(name).read_text(encoding="utf-8")
    for key, value in values.items():
        text = text.replace("{" + key + "}", value)
    return text


def _size(labels: int) -> str:
    """Return the size in the classes that the Hugging Face hub knows."""
    return "n<1K" if labels < 1_000 else "1K<n<10K" if labels < 10_000 else "10K<n<100K"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], texts: int = 1) -> str:
    """Return a table whose first columns are texts and whose others are numbers."""
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * texts}{' ---: |' * (len(head) - texts)}"]
    return "\n".join((*lines, *(f"| {' | '.join(row)} |" for row in rows)))


def _counted(parts: Parts, of: Callable[[Label], str], order: Iterable[str] | None = None) -> str:
    table = counts(parts, of)
    rows = [name for name in order or table if name in table]
    return _table(["", *PARTS], [[name, *(str(table[name][part]) for part in PARTS)] for name in rows])


def _licences(repositories: Collection[str]) -> str:
    used = [each for each in catalogue().values() if each.name in repositories]
    rows = [[each.name, each.version, each.licence, each.split] for each in used]
    return _table(["repository", "version", "licence", "split"], rows, texts=4)


def _restrictions(labels: Collection[Label]) -> str:
    rows: list[list[str]] = []
    for each in RESTRICTIONS:
        spans = sum(each.covers(label.repository, path) for label in labels for path, _ in label.evidence)
        patterns = ", ".join(f"`{pattern}`" for pattern in each.files)
        rows.append([each.repository, patterns, f"{each.licence}, © {each.holder}", str(spans)])
    return _table(["repository", "files", "licence", "spans"], rows, texts=3)


def _searchers(parts: Parts) -> str:
    """Return the rates of BM25 and of the depth-first searcher, for each split, wording and group of depths."""
    rows: list[list[str]] = []
    for part, labels in parts.items():
        for wording in wordings_of(labels):
            rows += [[part, wording, *row] for row in searcher_rows(labels, wording)]
    return _table(["split", "wording", "depth", "BM25 ranks a target first", "depth-first, within 15 steps"], rows)


def _slices(parts: Parts) -> str:
    """Return how many labels each slice holds, and how far BM25 comes on it."""
    slices: dict[str, Callable[[Label], bool]] = {
        "evidence in the first 2,000 characters": lambda label: seen_by_players([label]) == 1,
        "evidence later in its file": lambda label: seen_by_players([label]) != 1,
        "about the project itself": is_about_project,
        "about what it does": lambda label: not is_about_project(label),
    }
    rows: list[list[str]] = []
    for part, labels in parts.items():
        for name, holds in slices.items():
            chosen = [label for label in labels if holds(label)]
            share = f"{len(chosen)} ({len(chosen) / (len(labels) or 1):.0%})"
            rows.append([part, name, share, *(_bm25(chosen, wording) for wording in WORDINGS)])
    return _table(["split", "slice", "labels", "BM25, natural", "BM25, hard"], rows)


def _bm25(labels: Sequence[Label], wording: Wording) -> str:
    if wording not in wordings_of(labels):
        return "not written"
    return str(rates(labels, partial(bm25_right, wording=wording))["any"])
