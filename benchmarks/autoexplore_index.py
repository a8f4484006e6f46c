"""Measures what index-like files say of the entries beside and below them, and whether the trained judge gains by it.

`python benchmarks/autoexplore_index.py RUN` prints two tables and writes them to `results/autoexplore_index.md`. RUN is
a folder that `reflect-rl search train` has written. Only training and validation questions are opened.
"""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import NamedTuple

import numpy as np
from index_files import ALL, KINDS, places_of, said_of
from report import markdown, show, write_page

from natlang_envs.evaluation.runner import hardware
from reference_agent.search.encoder import Vectors
from reference_agent.search.lexical import name_words, share
from reference_agent.search.listing_judge import ListingJudge, entry_words
from reference_agent.search.listings import Example, Question, examples
from reference_agent.search.run import Searcher
from reference_agent.search.train import PRACTICE, labelled

RESULTS = Path(__file__).parent / "results" / "autoexplore_index.md"
TOLD = ("part", "file", "where", "have one", "is right", "names the right", "or its word", "new word", "entries named")
GAINED = ("judge", "told by", "wording", "listings", "first", "in three", "MRR", "better / worse", "first won / lost")
EXPLAINED = """
`first`, `in three`, MRR (mean reciprocal rank): where the right entry ranks, with names alone → with what is said.
`better / worse`: in how many listings its rank changed. `have one`: the share of listings on the way to a target
with such a file in the same folder (beside) or in its parent (above). `is right`: the share of those where the file
is itself the answer; the columns after it leave these out. `names the right`: by path, import or toctree line. `or
its word`: or the stem appears in the text. `new word`: what is said of the right entry has a word of the question
that its name lacks. `other`: the file that names most entries, at least three, picked with hindsight.
""".strip().splitlines()
AS_IS = "the judge as it is"
MIXES, WEIGHTS = (0.0, 0.25, 0.5, 0.75, 1.0), (0.0, 0.5, 1.0, 2.0, 4.0, 8.0)


def new_words(entry: str, said: Sequence[str]) -> frozenset[str]:
    return frozenset[str]().union(*map(name_words, said)) - name_words(entry)


def told_rows(part: str, found: Sequence[Example], searcher: Searcher) -> list[tuple[str, ...]]:
    """Return what is said, by kind and place of the file."""
    rows: list[tuple[str, ...]] = []
    for kind in KINDS[:4]:
        for place in ("beside", "above"):
            tally: list[tuple[float, ...]] = []
            itself = 0  # listings in which such files alone are right
            for each in found:
                files, said = said_of(each, kind, places_of(each)[place])
                right = {each.entries[index] for index in each.right}
                itself += right <= set(files)
                if files and not right <= set(files):
                    weights = searcher.rarity.weights(each.question.text)
                    new = [share(weights, new_words(entry, said[entry][1])) for entry in right & said.keys()]
                    exact = any(said[entry][0] for entry in right & said.keys())
                    tally.append((exact, bool(new), max(new, default=0) > 0, len(said), len(said) / len(each.entries)))
            if tally:
                one, two, three, count, part_of = np.mean(tally, axis=0)
                have = len(tally) + itself
                cells = (f"{have / len(found):.0%}", f"{itself / have:.0%}", f"{one:.0%}", f"{two:.0%}", f"{three:.0%}")
                rows.append((part, kind, place, *cells, f"{count:.1f} ({part_of:.0%})"))
    return rows


class Rated(NamedTuple):
    """A listing with its ratings by names, by names and what is said, and the shares of the question's words said."""

    question: Question
    right: tuple[int, ...]
    plain: Vectors
    told: Vectors
    shared: Vectors

    def rank(self, mix: float, weight: float) -> int:
        scores = (1 - mix) * self.plain + mix * self.told + weight * self.shared
        return int(np.argsort(np.argsort(-scores))[list(self.right)].min())


class Rater:
    """Rates listings of which files of a kind say something."""

    def __init__(self, searcher: Searcher, judges: Sequence[ListingJudge]) -> None:
        self._searcher, self._judges = searcher, judges
        self._known: dict[tuple[str, str, tuple[str, ...]], Vectors] = {}

    def _rate(self, each: Example, words: Sequence[str]) -> Vectors:
        which = each.question.text, each.folder, tuple(words)
        if which not in self._known:
            rows = [judge.rate(each.question.text, each.folder, words) for judge in self._judges]
            self._known[which] = np.mean(rows, axis=0)
        return self._known[which]

    def __call__(self, found: Iterable[Example], kind: str, loosely: bool, most: int | None = None) -> list[Rated]:
        made: list[Rated] = []
        for each in found:
            _, held = said_of(each, kind, [place for some in places_of(each).values() for place in some])
            said = {entry: words for entry, (exact, words) in held.items() if words and (exact or loosely)}
            if said and (most is None or len(made) < most):
                weights = self._searcher.rarity.weights(each.question.text)
                new = [new_words(entry, said.get(entry, ())) for entry in each.entries]
                shared = np.array([share(weights, words) for words in new], np.float32)
                plain = self._rate(each, [entry_words(entry) for entry in each.entries])
                told = self._rate(each, [entry_words(entry, said.get(entry, ())) for entry in each.entries])
                made.append(Rated(each.question, each.right, plain, told, shared))
        return made


def fitted(cases: Sequence[Rated]) -> tuple[float, float]:
    """Return the share of the told rating and the weight of shared words with the best mean reciprocal rank."""
    grid = [(mix, weight) for mix in MIXES for weight in WEIGHTS]
    return max(grid, key=lambda pair: float(np.mean([1 / (each.rank(*pair) + 1) for each in cases])))


def compared(label: Sequence[str], before: Sequence[int], after: Sequence[int]) -> tuple[str, ...]:
    """Return a row: shares at first place, among three, and the mean reciprocal rank, before and after."""
    one, two = np.array(before), np.array(after)
    cells = [f"{np.mean(one < top):.1%} → {np.mean(two < top):.1%}" for top in (1, 3)]
    mean = f"{np.mean(1 / (one + 1)):.3f} → {np.mean(1 / (two + 1)):.3f}"
    moved = f"{np.sum(two < one)} / {np.sum(two > one)}"
    at_first = f"{np.sum((two < 1) & (one > 0))} / {np.sum((two > 0) & (one < 1))}"
    return (*label, str(len(one)), *cells, mean, moved, at_first)


def gained(
    searcher: Searcher, practice: Sequence[Example], held: Sequence[Example], most: int
) -> list[tuple[str, ...]]:
    """Return what is gained: by the judge as it is, and by the combination that is fitted on training repositories."""
    rate, natural = Rater(searcher, searcher.judges), set(labelled("validation")[::2])
    rows: list[tuple[str, ...]] = []
    pools = {
        (kind, loosely): rate(held, kind, loosely) for kind in KINDS for loosely in (False, True)[: 1 + (kind == ALL)]
    }
    for (kind, loosely), cases in pools.items():
        for wording, asked in (("hard", False), ("natural", True)):
            some = [each for each in cases if (each.question in natural) == asked]
            label = (AS_IS, kind + (", mere words too" if loosely else ""), wording)
            rows.append(compared(label, [each.rank(0, 0) for each in some], [each.rank(1, 0) for each in some]))
    drawn = np.random.default_rng(0).permutation(len(practice))
    cases = Rater(searcher, searcher.judges[1:])([practice[index] for index in drawn], ALL, False, most)
    before, after = list[int](), list[int]()
    for name in sorted(PRACTICE):
        mine = [each for each in cases if each.question.repository == name]
        pair = fitted([each for each in cases if each.question.repository != name])
        before += [each.rank(0, 0) for each in mine]
        after += [each.rank(*pair) for each in mine]
    rows.append(compared(("fitted, one training repository left out", ALL, "both"), before, after))
    pair = fitted(cases)
    for wording, asked in (("hard", False), ("natural", True)):
        some = [each for each in pools[ALL, False] if (each.question in natural) == asked]
        label = (f"fitted: {pair[0]:g} of the told rating, {pair[1]:g} × shared words", ALL, wording)
        rows.append(compared(label, [each.rank(0, 0) for each in some], [each.rank(*pair) for each in some]))
    return rows


def conclusion(told: Sequence[Sequence[str]], rows: Sequence[Sequence[str]]) -> list[str]:
    """Return the page's first lines; the files help if both wordings gain three points in one of the two ways."""
    named = [f"{row[1]} {row[5]} ({row[7]})" for row in told if row[0] == "validation" and row[2] == "beside"]
    first = {(row[0].partition(":")[0], row[2]): row[4] for row in rows if row[1] == ALL}
    shares = {key: [float(each.rstrip("%")) for each in held.split(" → ")] for key, held in first.items()}
    gains = {key: after - before for key, (before, after) in shares.items()}
    helps = any(min(gains[who, "hard"], gains[who, "natural"]) >= 3 for who in (AS_IS, "fitted"))
    return [
        f"**Index-like files {'help' if helps else 'do not help'} the trained judge.** Given what `__init__.py`,",
        "contents pages and READMEs say of entries, it ranks the right one first in",
        f"{first[AS_IS, 'hard']} of the validation listings concerned (hard questions) and",
        f"{first[AS_IS, 'natural']} (natural). A combination fitted on training repositories gives",
        f"{first['fitted', 'hard']} and {first['fitted', 'natural']}. Where such a file is beside the right entry, it",
        "names that entry (and adds a word of the question that the entry's name lacks) in:",
        f"{'; '.join(named)}.",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", type=Path)
    parser.add_argument("--most", type=int, default=400, help="training listings that the combination is fitted on")
    parser.add_argument("--out", type=Path, default=RESULTS)
    chosen = parser.parse_args()
    searcher = Searcher.load(chosen.run)
    parts = {part: examples(labelled(part)) for part in ("train", "validation")}
    told = [row for part, found in parts.items() for row in told_rows(part, found, searcher)]
    show(TOLD, told)
    practice = [each for each in parts["train"] if each.question.repository in PRACTICE]
    rows = gained(searcher, practice, parts["validation"], chosen.most)
    show(GAINED, rows)
    lines = [*conclusion(told, rows), "", *markdown(GAINED, rows), "", *markdown(TOLD, told), ""]
    command = shlex.join(["python", "benchmarks/autoexplore_index.py", *sys.argv[1:]])
    lines += [*EXPLAINED, "", f"Written by `{command}` on {date.today().isoformat()}: {hardware()}."]
    write_page(chosen.out, "AutoExplore: what index-like files say of other files", lines)


if __name__ == "__main__":
    main()
