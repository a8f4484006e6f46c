"""What is derived from the labels: state-action pairs, Parquet files, and the dataset card."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any, NamedTuple

from natlang_envs.autoexplore.dataset.blind_review import agreement, read_readings, readings_file
from natlang_envs.autoexplore.dataset.catalogue import catalogue
from natlang_envs.autoexplore.dataset.editions import part_file
from natlang_envs.autoexplore.dataset.labels import PARTS, Label, Part
from natlang_envs.autoexplore.dataset.locations import data_folder
from natlang_envs.autoexplore.dataset.report import DEPTHS, Parts, bm25_right, counts, depth_first_right, rates
from natlang_envs.autoexplore.dataset.repositories import repository_folder
from natlang_envs.autoexplore.episode import Episode
from natlang_envs.autoexplore.repository.texts import FILE_BUDGET
from natlang_envs.autoexplore.tasks import ExploreTask
from natlang_envs.env import Outcome
from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole
from natlang_envs.prompt import PathStep, state_prompt

HORIZON = 15


class StateAction(NamedTuple):
    """A step of the shortest way: what the player is shown, p(s), the commands listed, and the right one.

    Attributes:
        id: The label's id.
        step: From 0.
        prompt: p(s) with the whole path.
        commands: The admissible commands.
        action: The next command of the way.
    """

    id: str
    step: int
    prompt: str
    commands: tuple[str, ...]
    action: str


def state_actions(labels: Iterable[Label]) -> Iterator[StateAction]:
    """Yield the steps of each label's way, as the environment shows them.

    Raises:
        UsageError: The files of a repository are not here.
    """
    for label in labels:
        task = ExploreTask(label.id, repository_folder(label.repository), label.question, label.targets)
        episode = Episode(task, FILE_BUDGET)
        path: list[PathStep] = []
        outcome = Outcome("", 0.0)
        for step, action in enumerate(label.path):
            shown = episode.observe(HORIZON - step, outcome.feedback)
            yield StateAction(label.id, step, state_prompt(episode.task, path, shown), episode.place.commands, action)
            outcome = episode.act(action, step + 1 == HORIZON)
            path.append(PathStep(action, outcome.feedback))


def write_state_actions(path: Path, labels: Iterable[Label]) -> int:
    """Write one state-action pair a line, and return how many there are."""
    lines = [f"{json.dumps(each._asdict(), ensure_ascii=False)}\n" for each in state_actions(labels)]
    write_whole(path, "".join(lines).encode())
    return len(lines)


def write_parquet(folder: Path, parts: Parts) -> list[Path]:
    """Write a Parquet file for each part that has labels, and the card, as the Hugging Face library loads them.

    Raises:
        UsageError: pyarrow is not installed, or the folder holds something.
    """
    try:
        import pyarrow as arrow  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
        import pyarrow.parquet as parquet  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
    except ImportError:
        raise UsageError(
            "Parquet needs the package pyarrow: install it with pip install 'natlang-envs[data]'"
        ) from None
    pa: Any = arrow
    pq: Any = parquet
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty: choose another folder")
    text, texts = pa.string(), pa.list_(pa.string())
    schema = pa.schema(
        {
            "id": text,
            "repository": text,
            "question": text,
            "answer": text,
            "targets": texts,
            "evidence": pa.list_(pa.struct({"path": text, "text": text})),
            "path": texts,
            "depth": pa.int32(),
            "kind": text,
            "difficulty": text,
            "bm25": pa.list_(pa.struct({"path": text, "answers": pa.bool_(), "why": text})),
        }
    )
    written: list[Path] = []
    folder.mkdir(parents=True, exist_ok=True)
    for part, labels in parts.items():
        if labels:
            rows = [{"id": label.id, **json.loads(label.to_json())} for label in labels]
            sink = pa.BufferOutputStream()
            pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink)
            path = folder / f"{part}.parquet"
            write_whole(path, sink.getvalue().to_pybytes())
            written.append(path)
    write_whole(folder / "README.md", card(parts).encode())
    return written


def digest() -> str:
    """Return the SHA-256 of the dataset: of the list of repositories and of the labels' files, in order."""
    total = hashlib.sha256()
    for path in (data_folder() / "repositories.toml", *(part_file(part) for part in PARTS)):
        content = path.read_bytes() if path.exists() else b""
        total.update(f"{hashlib.sha256(content).hexdigest()} {path.name}\n".encode())
    return total.hexdigest()


def card(parts: Parts) -> str:
    """Return the dataset card: its template with what the labels say filled in."""
    template = resources.files("natlang_envs.autoexplore").joinpath("prompts/dataset_card.md")
    everything = {label.id: label for labels in parts.values() for label in labels}
    values = {
        "labels": f"{len(everything):,}",
        "repositories": str(len({label.repository for label in everything.values()})),
        "data_files": "\n".join(
            f"      - split: {part}\n        path: {part}.parquet" for part, labels in parts.items() if labels
        ),
        "digest": digest(),
        "licences": _licences(parts),
        "by_repository": _counted(parts, [(name, name) for name in catalogue()], _repository),
        "by_depth": _counted(parts, [(str(depth), f"depth {depth}") for depth in _depths(everything.values())], _depth),
        "by_kind": _counted(parts, [(kind, kind) for kind in counts(parts, _kind)], _kind),
        "by_difficulty": _counted(parts, [(each, each) for each in counts(parts, _difficulty)], _difficulty),
        "searchers": searchers_table(parts),
        "agreement": str(agreement(read_readings(readings_file()), everything)),
    }
    text = template.read_text(encoding="utf-8")
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text


def _repository(label: Label) -> str:
    return label.repository


def _kind(label: Label) -> str:
    return label.kind


def _difficulty(label: Label) -> str:
    return label.difficulty


def _depth(label: Label) -> str:
    return str(label.depth)


def _depths(labels: Iterable[Label]) -> list[int]:
    return sorted({label.depth for label in labels})


def _counted(parts: Parts, rows: Sequence[tuple[str, str]], of: Callable[[Label], str]) -> str:
    table = counts(parts, of)
    lines = [f"| | {' | '.join(PARTS)} |", f"| --- |{' ---: |' * len(PARTS)}"]
    lines += [
        f"| {name} | {' | '.join(str(table[key][part]) for part in PARTS)} |" for key, name in rows if key in table
    ]
    return "\n".join(lines)


def _licences(parts: Parts) -> str:
    used = {label.repository for labels in parts.values() for label in labels}
    lines = ["| repository | version | licence | split |", "| --- | --- | --- | --- |"]
    lines += [
        f"| {each.name} | {each.version} | {each.licence} | {each.split} |"
        for each in catalogue().values()
        if each.name in used
    ]
    return "\n".join(lines)


def searchers_table(parts: Parts) -> str:
    """Return the rates of BM25 and of the depth-first searcher, for each part and group of depths, as Markdown."""
    lines = [
        "| split | depth | BM25 ranks a target first | depth-first, within 15 steps |",
        "| --- | --- | --- | --- |",
    ]
    for part, labels in parts.items():
        first, search = rates(labels, bm25_right), rates(labels, depth_first_right)
        lines += [f"| {part} | {depth} | {first[depth]} | {search[depth]} |" for depth in DEPTHS]
    return "\n".join(lines)


def part_named(name: str) -> Part:
    """Return a part by name.

    Raises:
        UsageError: There is none.
    """
    for part in PARTS:
        if part == name:
            return part
    raise UsageError(f"unknown split {name!r}: choose one of {', '.join(PARTS)}")
