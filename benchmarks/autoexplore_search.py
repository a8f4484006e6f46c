"""How many files a search reads until it names one: BM25, depth first and the oracle, on growing repositories.

`python benchmarks/autoexplore_search.py` prints a table and writes it to benchmarks/results/autoexplore_search.md. The
repositories are made from a seed in a temporary folder: 10 files or 10 folders in each folder (a 10-ary tree), 40 words
in a file. A question is made of six words of the file that it is about.
"""

from __future__ import annotations

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import mean

from report import publish

from natlang_envs.autoexplore.baselines import bm25_of
from natlang_envs.autoexplore.env import AutoExploreEnv
from natlang_envs.autoexplore.search import DepthFirstSearch
from natlang_envs.evaluation.runner import hardware
from natlang_envs.task_random import TaskRandom

RESULTS = Path(__file__).parent / "results" / "autoexplore_search.md"
SIZES = (100, 1_000, 10_000)
ARITY = 10
WORDS, WORDS_IN_FILE, WORDS_IN_QUESTION = 4_000, 40, 6
QUESTIONS = 20
UNBOUNDED = 1_000_000  # steps: what is counted is how many a search takes
HEADINGS = ("files", "search", "files read", "commands", "right", "k + log_k n")
MEANS = f"Means over {QUESTIONS} questions about each of three generated repositories, {ARITY} entries in a folder."
REMARKS = """\
BM25 reads every file before its first command; its commands are the way to the file that it ranks first. The
last column is what the paper expects of an explorer that reads one folder's names at a time. Names tell
nothing in these repositories, so the depth-first search has to read half of the files on the way.
"""
_SYLLABLES = ("ba", "do", "fi", "gu", "ke", "lo", "mi", "nu", "pa", "ro", "su", "ti", "vo", "wa", "ze", "hy")


@dataclass(frozen=True)
class Question:
    """What is asked, and the file it is about."""

    text: str
    target: str


@dataclass(frozen=True)
class Found:
    """What a search took: files read, commands, and whether the file it named was the right one."""

    files_read: int
    commands: int
    right: bool


def word(number: int) -> str:
    return "".join(_SYLLABLES[number >> shift & 15] for shift in (8, 4, 0))


def make_repository(folder: Path, files: int) -> list[Question]:
    """Write a repository of `files` files (a power of 10) and return questions about files all over it."""
    draw = TaskRandom(f"benchmark/autoexplore/{files}").below
    digits = round(math.log(files, ARITY))
    contents: list[tuple[str, list[str]]] = []
    for number in range(files):
        *folders, name = f"{number:0{digits}d}"
        path = "/".join([*(f"part-{digit}" for digit in folders), f"note-{name}.txt"])
        words = [word(draw(WORDS)) for _ in range(WORDS_IN_FILE)]
        contents.append((path, words))
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(" ".join(words) + "\n", encoding="utf-8")
    questions: list[Question] = []
    for index in range(QUESTIONS):
        path, words = contents[(index * files + draw(files)) // QUESTIONS]
        asked = [words[draw(WORDS_IN_FILE)] for _ in range(WORDS_IN_QUESTION)]
        questions.append(Question(f"Where are {' '.join(asked)} written down?", path))
    return questions


def open_question(folder: Path, question: Question) -> AutoExploreEnv:
    env = AutoExploreEnv(repository=str(folder), question=question.text, target=question.target, horizon=UNBOUNDED)
    env.reset(seed=0)
    return env


def by_bm25(env: AutoExploreEnv) -> Found:
    index = bm25_of(env.repository)
    way = env.route(index.rank(env.question)[0].path)
    return Found(index.files_read, len(way), follow(env, way))


def by_oracle(env: AutoExploreEnv) -> Found:
    way = env.demonstration()
    right = follow(env, way)
    return Found(len(env.files_read), len(way), right)


def by_depth_first(env: AutoExploreEnv) -> Found:
    search = DepthFirstSearch(env.question)
    commands = 0
    while True:
        command = search.choose(env.action_space.commands, UNBOUNDED - commands)
        _, _, terminated, _, info = env.step(command)
        commands += 1
        if terminated:
            return Found(search.files_read, commands, info["success"])
        search.saw(command, info["feedback"])


def follow(env: AutoExploreEnv, way: list[str]) -> bool:
    return [env.step(command)[4]["success"] for command in way][-1]


SEARCHES: dict[str, Callable[[AutoExploreEnv], Found]] = {
    "BM25 over all contents": by_bm25,
    "depth first, reading as it goes": by_depth_first,
    "oracle, reading before it names": by_oracle,
}


def rows_of(files: int) -> list[tuple[str, ...]]:
    with tempfile.TemporaryDirectory() as name:
        questions = make_repository(Path(name), files)
        rows: list[tuple[str, ...]] = []
        for search, find in SEARCHES.items():
            found = [find(open_question(Path(name), question)) for question in questions]
            rows.append(
                (
                    f"{files:,}",
                    search,
                    f"{mean(each.files_read for each in found):,.1f}",
                    f"{mean(each.commands for each in found):,.1f}",
                    f"{mean(each.right for each in found):.0%}",
                    f"{ARITY + math.log(files, ARITY):.0f}",
                )
            )
    return rows


def conclusion(rows: Sequence[Sequence[str]]) -> str:
    """Return the page's first lines."""
    ranked, walked, _ = rows[-3:]
    return (
        f"**Where names tell nothing, a search reads about half of the files or all of them.** With {ranked[0]} files, "
        f"a depth-first search reads {walked[2]} on average and BM25 {ranked[2]}. The paper expects {ranked[-1]} of an "
        "explorer that understands names."
    )


def main() -> None:
    rows = [row for files in SIZES for row in rows_of(files)]
    publish(
        RESULTS,
        "AutoExplore: files read until one is named",
        conclusion(rows),
        [
            f"Written by `python benchmarks/autoexplore_search.py` on {date.today().isoformat()}: {hardware()}.",
            MEANS,
        ],
        HEADINGS,
        rows,
        REMARKS.splitlines(),
    )


if __name__ == "__main__":
    main()
