"""What a pretrained model knows of AutoExplore's questions before any training: how likely a file makes them.

`python benchmarks/autoexplore_judgement.py` prints a table and writes it to `results/autoexplore_judgement.md`. Every
file as deep as a protocol's targets is shown as `cat` shows it, or by its path alone, and the one that makes a question
likeliest is named. A player of 15 steps cannot read them all: what is measured is the judgement, not the way.
"""

from __future__ import annotations

import argparse
import shlex
import sys
import time
from collections.abc import Callable, Sequence
from datetime import date
from pathlib import Path

import torch
from report import publish
from rich.progress import track

from natlang_envs.autoexplore.baselines import bm25_of
from natlang_envs.autoexplore.repository.texts import FILE_BUDGET
from natlang_envs.autoexplore.repository.tree import Repository, open_repository
from natlang_envs.autoexplore.tasks import DEPTHS, LABELLED, ExploreTask, RepositoryTasks
from natlang_envs.evaluation.protocols import load_protocol
from natlang_envs.evaluation.runner import hardware
from natlang_envs.evaluation.statistics import wilson
from reference_agent.config import ModelConfig
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.saycan import SayCanPolicy
from reference_agent.models.start import model_source
from reference_agent.untuned.likelihood import behind

BM25 = "BM25, all their contents"
MODEL_PATHS = "the model, their paths"
MODEL_TEXTS = "the model, what `cat` shows of them"
RESULTS = Path(__file__).parent / "results" / "autoexplore_judgement.md"
HEADINGS = ("depth", "files a repository", "questions", "who judges", "names a target first", "a target among five")
AT_ONCE = 24  # questions that are read behind one file

Ranking = Callable[[str], Sequence[str]]  # a question: the files, best first


def file_shown(repository: Repository, path: str) -> str:
    text = repository.part(path, 0, 4 * FILE_BUDGET).decode("utf-8", "replace")[:FILE_BUDGET]
    return behind(path, f" begins:\n{text}")


def path_shown(_: Repository, path: str) -> str:
    return behind(path)


def by_likelihood(
    model: SayCanPolicy,
    repository: Repository,
    files: Sequence[str],
    questions: Sequence[str],
    show: Callable[[Repository, str], str],
) -> Ranking:
    """Return the ranking of `files` by the log-probability of each of the questions behind what is shown of a file."""
    scores: dict[str, dict[str, float]] = {question: {} for question in questions}
    for path in track(files, "files"):
        prompt = show(repository, path)
        for first in range(0, len(questions), AT_ONCE):
            asked = questions[first : first + AT_ONCE]
            with torch.no_grad():
                row = model.choice_logits([prompt], [[f" {question}" for question in asked]])[0]
            for question, score in zip(asked, row.tolist(), strict=True):
                scores[question][path] = score
    return lambda question: sorted(files, key=lambda path: -scores[question][path])


def by_words(repository: Repository, files: Sequence[str]) -> Ranking:
    among = set(files)
    return lambda question: [each.path for each in bm25_of(repository).rank(question) if each.path in among]


def share(hits: int, count: int) -> str:
    low, high = wilson(hits, count)
    return f"{hits / count:.0%} ({low:.0%} to {high:.0%})"


def rows_of(model: SayCanPolicy, depth: int, version: str, most: int | None) -> list[tuple[str, ...]]:
    tasks = RepositoryTasks("test", depth, LABELLED)
    asked: dict[str, list[ExploreTask]] = {}
    for episode in load_protocol(f"autoexplore-depth{depth}/{version}").episodes:
        asked.setdefault(episode.task_id.partition("/")[0], []).append(tasks.load(episode.task_id))
    ranks: dict[str, list[int]] = {}
    counts: list[int] = []
    for each in list(asked.values())[:most]:
        repository = open_repository(str(each[0].folder))
        files = [path for path in repository.files if path.count("/") in DEPTHS[depth]]
        counts.append(len(files))
        questions = list(dict.fromkeys(task.question for task in each))
        rankings = {
            BM25: by_words(repository, files),
            MODEL_PATHS: by_likelihood(model, repository, files, questions, path_shown),
            MODEL_TEXTS: by_likelihood(model, repository, files, questions, file_shown),
        }
        for name, rank in rankings.items():
            for task in each:
                order = rank(task.question)
                ranks.setdefault(name, []).append(min(order.index(path) for path in task.targets if path in order))
    return [
        (
            str(depth),
            f"{min(counts)} to {max(counts)}",
            str(len(found)),
            name,
            share(sum(rank < 1 for rank in found), len(found)),
            share(sum(rank < 5 for rank in found), len(found)),
        )
        for name, found in ranks.items()
    ]


def conclusion(rows: Sequence[Sequence[str]]) -> str:
    """Return the page's first lines."""
    first = {(depth, who): share.partition(" ")[0] for depth, _, _, who, share, _ in rows}
    told = [
        f"at depth {depth} in {first[depth, MODEL_TEXTS]} of the questions. BM25 over whole contents does in "
        f"{first[depth, BM25]}, and the model with paths alone in {first[depth, MODEL_PATHS]}"
        for depth in dict.fromkeys(row[0] for row in rows)
    ]
    return f"**Given the texts that `cat` shows, the model ranks a target first** {'; '.join(told)}."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="smollm2", help="as model.name in a config")
    parser.add_argument("--precision", default="bf16")
    parser.add_argument("--version", choices=("paper", "v1"), default="paper", help="of the protocols")
    parser.add_argument("--depth", type=int, choices=tuple(DEPTHS), action="append", help="both without it")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--repositories", type=int, help="so many alone, for a first look")
    chosen = parser.parse_args()
    depths: list[int] = chosen.depth or [*DEPTHS]
    names = [f"autoexplore-depth{depth}/{chosen.version}" for depth in depths]
    started = time.process_time()
    config = ModelConfig(name=chosen.model, precision=chosen.precision)
    model = SayCanPolicy(LanguageModel.load(model_source(chosen.model), config), ends=False)
    rows = [row for depth in depths for row in rows_of(model, depth, chosen.version, chosen.repositories)]
    minutes = (time.process_time() - started) / 60
    publish(
        chosen.out,
        "AutoExplore: what a pretrained model knows of the questions",
        conclusion(rows),
        [
            f"Written by `{shlex.join(['python', 'benchmarks/autoexplore_judgement.py', *sys.argv[1:]])}` on",
            f"{date.today().isoformat()}: {hardware()}; {chosen.model} in {chosen.precision},",
            f"{minutes:.0f} minutes of the processor. The questions of {' and '.join(f'`{name}`' for name in names)},",
            "each once. The model names the file that makes a question most probable. 95% intervals (Wilson).",
        ],
        HEADINGS,
        rows,
    )


if __name__ == "__main__":
    main()
