"""What is derived from the labels: state-action pairs, and the published form of the dataset.

The published form holds no text that may not be quoted: such evidence has `start`, `length` and `sha256` in place of
`text`, in characters of the file with its lines ended by line feeds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from natlang_envs.autoexplore.answering.keys import keys_file
from natlang_envs.autoexplore.dataset.card import card
from natlang_envs.autoexplore.dataset.catalogue import COFFEE, catalogue, data_folder, repository_folder
from natlang_envs.autoexplore.dataset.checks import text_of
from natlang_envs.autoexplore.dataset.labels import Label, Wording, json_lines
from natlang_envs.autoexplore.dataset.report import Parts
from natlang_envs.autoexplore.dataset.shipped import withheld
from natlang_envs.autoexplore.episode import HORIZON, ExploreEpisode
from natlang_envs.autoexplore.tasks import ExploreTask
from natlang_envs.env import Outcome
from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole
from natlang_envs.prompt import PathStep, state_prompt
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_envs.repository.tree import open_repository

_LICENCE_FILES = ("LICENSE", "LICENCE", "COPYING", "NOTICE")


class StateAction(NamedTuple):
    """A step of the shortest way: what the player is shown, p(s), the commands listed, and the right one."""

    id: str
    step: int
    prompt: str
    commands: tuple[str, ...]
    action: str


def state_actions(labels: Iterable[Label], wording: Wording = "natural") -> Iterator[StateAction]:
    for label in labels:
        task = ExploreTask(label.id, repository_folder(label.repository), label.asked(wording), label.targets)
        episode = ExploreEpisode(task, FILE_BUDGET)
        path: list[PathStep] = []
        outcome = Outcome("", 0.0)
        for step, action in enumerate(label.path):
            shown = episode.observe(HORIZON - step, outcome.feedback)
            yield StateAction(label.id, step, state_prompt(episode.task, path, shown), episode.place.commands, action)
            outcome = episode.act(action, step + 1 == HORIZON)
            path.append(PathStep(action, outcome.feedback))


def write_state_actions(path: Path, labels: Iterable[Label], wording: Wording = "natural") -> int:
    pairs = [each._asdict() for each in state_actions(labels, wording)]
    write_whole(path, json_lines(pairs))
    return len(pairs)


def write_export(folder: Path, parts: Parts, digest: str, *, own: bool = False) -> list[Path]:
    """Write the published form: a Parquet file and JSON lines for each part, the card, and all hashes.

    The dataset comes with its list of repositories, the licence texts of those that are here, the blind readings, and
    the Coffee Company; labels of a user's `own` may be quoted.
    """
    try:
        import pyarrow as arrow  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
        import pyarrow.parquet as parquet  # pyright: ignore[reportMissingImports, reportMissingTypeStubs]
    except ImportError:
        raise UsageError("Parquet needs the package pyarrow: pip install 'natlang-envs[data]'") from None
    pa: Any = arrow
    pq: Any = parquet
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise UsageError(f"{folder} is not empty: choose another folder")
    text, texts = pa.string(), pa.list_(pa.string())
    span = {"path": text, "text": text, "start": pa.int64(), "length": pa.int64(), "sha256": text}
    schema = pa.schema(
        {
            "id": text,
            "repository": text,
            "question": text,
            "answer": text,
            "targets": texts,
            "evidence": pa.list_(pa.struct(span)),
            "path": texts,
            "depth": pa.int32(),
            "kind": text,
            "difficulty": text,
            "bm25": pa.list_(pa.struct({"path": text, "answers": pa.bool_(), "why": text})),
            "natural": text,
            "elsewhere": pa.list_(pa.struct({"path": text, "why": text})),
        }
    )
    content: dict[str, bytes] = {"README.md": card(parts, digest, own=own).encode()}
    for part, labels in parts.items():
        if labels:
            rows = [_row(label, own=own) for label in labels]
            sink = pa.BufferOutputStream()
            pq.write_table(pa.Table.from_pylist(rows, schema=schema), sink)
            content[f"{part}.parquet"] = sink.getvalue().to_pybytes()
            content[f"raw/{part}.jsonl"] = json_lines(rows)
    if not own:
        content |= _company({label.repository for labels in parts.values() for label in labels})
    sums = (f"{hashlib.sha256(each).hexdigest()}  {name}\n" for name, each in sorted(content.items()))
    content["SHA256SUMS"] = "".join(sums).encode()
    for name, each in content.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_whole(folder / name, each)
    return [folder / name for name in content]


def _row(label: Label, *, own: bool) -> dict[str, Any]:
    def text(path: str) -> str:
        return text_of(open_repository(repository_folder(label.repository)), path)

    content: dict[str, Any] = {"id": label.id, "natural": "", "elsewhere": []}
    content |= json.loads(label.to_json()) if own else withheld(label, text)
    span = dict.fromkeys(("path", "text", "start", "length", "sha256"))
    content["evidence"] = [span | each for each in content["evidence"]]
    return content


def _company(repositories: Collection[str]) -> dict[str, bytes]:
    named = [data_folder() / "repositories.toml", keys_file(), *(data_folder() / "readings").glob("*.jsonl.gz")]
    content = {path.relative_to(data_folder()).as_posix(): path.read_bytes() for path in named}
    for name in sorted(repositories):
        entry = catalogue()[name]
        if name == COFFEE:
            folder = repository_folder(name)
            files = sorted(path for path in folder.rglob("*") if path.is_file())
            content |= {f"coffee_company/{path.relative_to(folder).as_posix()}": path.read_bytes() for path in files}
        elif entry.is_cached:
            for path in sorted(entry.folder.iterdir()):
                if path.is_file() and path.name.upper().startswith(_LICENCE_FILES):
                    content[f"licences/{name}/{path.name}"] = path.read_bytes()
    return content
