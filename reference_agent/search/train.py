"""Trains a searcher: two judges of listings, then the networks over their ratings, then policies; each stage is kept.

The networks and policies learn on repositories that one of the judges has not seen, by its ratings. Test repositories
are never opened here.
"""

from __future__ import annotations

import io
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from natlang_envs.autoexplore.dataset.editions import load_labels
from natlang_envs.autoexplore.dataset.labels import WORDINGS, Part
from natlang_envs.autoexplore.dataset.repositories import repository_folder
from natlang_envs.autoexplore.repository.navigation import navigation_of
from natlang_envs.autoexplore.repository.texts import FILE_BUDGET
from natlang_envs.autoexplore.repository.tree import open_repository
from natlang_envs.errors import UsageError
from natlang_envs.files import write_whole
from reference_agent.search.belief import believe
from reference_agent.search.games import play
from reference_agent.search.heads import Case, accuracy, entry_cases, fit, text_cases
from reference_agent.search.judge import Asked, Network, Usual
from reference_agent.search.lexical import Rarity
from reference_agent.search.listing_judge import ListingJudge
from reference_agent.search.listing_training import ListingConfig, train_listings, trained_judge
from reference_agent.search.listings import Question, examples
from reference_agent.search.planner import Plan, choose
from reference_agent.search.policy import Policy, command_features
from reference_agent.search.practice import Exercise, PracticeConfig, by_reward, holds_of, warm_start
from reference_agent.search.recipes import Recipe
from reference_agent.search.reflect import Reflecting, new_policy, read_policy
from reference_agent.search.run import KINDS, Judgement, Searcher, encoder
from reference_agent.search.weak import read_questions, read_written

Report = Callable[[str, int, int, float], None]  # stage, step, steps, value
SETTINGS: dict[str, dict[str, Any]] = {
    kind: {"temperature": 0.8, "convincing": 0.7, "deeper": 0.6, "inside": 1.0, "group": 4} for kind in KINDS
}


# The labelled repositories whose questions the networks and policies learn from, rated by a judge that never saw them.
PRACTICE = frozenset({"coffee-company", "flask", "mkdocs", "sphinx", "tornado"})


@dataclass(frozen=True)
class TrainConfig:
    """How a searcher is trained.

    Attributes:
        judge: The judge of listings that learns from all training repositories.
        aside: One that never sees those of `PRACTICE`; the searcher plays by the mean of both.
        epochs: Passes of the networks' training.
    """

    judge: ListingConfig = field(default_factory=ListingConfig)
    aside: ListingConfig = field(
        default_factory=lambda: ListingConfig(
            steps=800, decay=350, shares=(0.55, 0.35, 0.1), last_shares=(0.8, 0.2, 0.0), seed=1
        )
    )
    epochs: int = 20

    def shortened(self, steps: int) -> TrainConfig:
        """Return the same with so many updates of each judge."""
        judge, aside = (replace(each, steps=steps, decay=steps // 2) for each in (self.judge, self.aside))
        return replace(self, judge=judge, aside=aside)


def labelled(part: Part) -> list[Question]:
    """Return the labelled questions of a part, in both wordings."""
    return [
        Question(each.repository, repository_folder(each.repository), each.asked(wording), each.targets)
        for each in load_labels(part, edition=2)
        for wording in WORDINGS
    ]


def practice_questions(train: Sequence[Question]) -> list[Question]:
    """Return the questions about `PRACTICE`, each in one wording, which is enough there: the two take turns."""
    both = [each for each in train if each.repository in PRACTICE]
    return [each for index, each in enumerate(both) if (index // 2 + index) % 2 == 0]


def further_questions(file: Path, repositories: Path) -> tuple[list[Question], list[Question]]:
    """Return the questions that a language model wrote for training, and those that rules made.

    Args:
        file: What `reflect-rl data autoexplore` has written.
        repositories: The folders that it lists.

    Raises:
        UsageError: A file is missing or damaged.
    """
    try:
        roots = {name: Path(folder).resolve() for name, folder in json.loads(repositories.read_text("utf-8")).items()}
        held = [(each, roots[each.repository]) for each in read_questions(file)]
    except (OSError, ValueError, KeyError) as error:
        if isinstance(error, UsageError):
            raise
        raise UsageError(f"{repositories} is no list of folders ({error}): run reflect-rl data autoexplore") from None
    written = [each for each in read_written() if each.repository in roots]
    known = {name: frozenset(open_repository(folder).files) for name, folder in roots.items()}
    return (
        [
            Question(each.repository, roots[each.repository], text, each.paths)
            for each in written
            if known[each.repository].issuperset(each.paths)
            for text in (each.hard, each.natural)
        ],
        [
            Question(each.repository, folder, each.question, each.paths)
            for each, folder in held
            if known[each.repository].issuperset(each.paths)
        ],
    )


class Workshop:
    """The judges of a run in training, and the features of its questions.

    Args:
        out: The run's folder.
        train: The labelled training questions.
        written: Questions that a language model wrote for training.
        ruled: Questions that rules made of sentences.
        config: The settings.
    """

    def __init__(
        self,
        out: Path,
        train: Sequence[Question],
        written: Sequence[Question],
        ruled: Sequence[Question],
        config: TrainConfig,
    ) -> None:
        self.out, self.train, self.config = out, list(train), config
        self._written, self._ruled = written, ruled
        self.practice = practice_questions(self.train)
        self.reader = encoder()
        self.reader.read_cache(out / "cache" / "reader.npz")
        self.judges: dict[str, ListingJudge] = {}
        self._exercises: dict[Question, Asked] = {}

    def train_judges(self, report: Report, seconds: float = float("inf")) -> bool:
        """Train the two judges of listings, or go on with them; return whether both are finished."""
        started = time.monotonic()
        apart = [each for each in self.train if each.repository not in PRACTICE]
        for name, questions, config in (
            ("judge", self.train, self.config.judge),
            ("aside", apart, self.config.aside),
        ):
            judge = ListingJudge(encoder(), config.layers)

            file = self.out / "training" / f"{name}.pt"
            left = seconds - (time.monotonic() - started)
            pools = questions, self._written, self._ruled
            if not train_listings(judge, pools, config, file, partial(report, name), left):
                return False
            self.judges[name] = judge
        return True

    def count_words(self) -> None:
        """Count words of the training repositories' shown texts, and names of entries that led on."""
        texts: list[str] = []
        for folder in {each.repository: each.folder for each in self.train}.values():
            atlas = navigation_of(open_repository(folder), FILE_BUDGET)
            texts += [atlas.text(path).partition("\n")[2] for path in atlas.repository.files]
        self.rarity = Rarity.of(texts)
        self.usual = Usual.of(examples([*self.train, *self._ruled]))

    def searcher(self, networks: dict[str, Network]) -> Searcher:
        """Return the searcher that plays: by the mean of both judges."""
        return Searcher(self.reader, list(self.judges.values()), networks, self.rarity, self.usual, SETTINGS)

    def train_searcher(self, report: Report, seconds: float = float("inf")) -> Searcher | None:
        """Train the searcher and write it into the run's folder; return None where the time was too short.

        Args:
            report: Called with a stage, its step, how many there are, and the share that is right.
            seconds: How long the judges may learn.
        """
        if not self.train_judges(report, seconds):
            return None
        self.count_words()
        searcher = self.searcher(self.fit_networks(report, labelled("validation")))
        self.keep_cache()
        searcher.save(self.out)
        return searcher

    def exercises(self, kind: str, searcher: Searcher) -> list[Exercise]:
        """Return the questions that policies of a kind practise on, as the judges of the run's searcher rate them.

        Where the run's training is gone, as in one that was unpacked, its judges are those that it plays with, rounded.
        """
        if not self.judges:
            for name, rounded in zip(("judge", "aside"), searcher.judges, strict=True):
                file = self.out / "training" / f"{name}.pt"
                self.judges[name] = trained_judge(file, encoder()) if file.exists() else rounded
            self.rarity, self.usual = searcher.rarity, searcher.usual
        networks = searcher.networks
        return [self.exercise(each, kind, networks) for each in self.practice if fits(each, KINDS[kind])]

    def keep_cache(self) -> None:
        """Write the vectors that were made."""
        self.reader.write_cache(self.out / "cache" / "reader.npz")

    def asked(self, question: Question) -> Asked:
        """Return a question with its features, made once; one of `PRACTICE` is rated by the judge aside alone."""
        if question not in self._exercises:
            judges = [self.judges["aside"]] if question.repository in PRACTICE else list(self.judges.values())
            self._exercises[question] = Asked(
                question.text, judges, self.reader, self.rarity, self.usual, question.repository
            )
        return self._exercises[question]

    def exercise(self, question: Question, kind: str, networks: dict[str, Network]) -> Exercise:
        """Return a question with the ratings of the networks."""
        temperature = SETTINGS[kind]["temperature"]
        return Exercise(question, Judgement(self.asked(question), networks[kind], networks["text"], temperature))

    def fit_networks(self, report: Report, held_out: Sequence[Question] = ()) -> dict[str, Network]:
        """Fit the networks of entries and texts on training questions; say how they do on others."""
        rng = np.random.default_rng(0)
        entries: dict[Question, list[Case]] = {}
        texts: dict[Question, list[Case]] = {}
        whole = len(self.practice) + len(held_out)
        for count, each in enumerate([*self.practice, *held_out]):
            asked = self.asked(each)
            entries[each] = entry_cases(asked, each, rng) + entry_cases(asked, each, rng)
            texts[each] = text_cases(asked, each, rng, 3)
            report("features", count + 1, whole, 0.0)
        networks: dict[str, Network] = {}
        for kind, depths in KINDS.items():
            cases = [case for each in self.practice if fits(each, depths) for case in entries[each]]
            networks[kind] = fit(cases, epochs=self.config.epochs)
            held = [case for each in held_out if fits(each, depths) for case in entries[each]]
            if held:
                report(f"entries {kind}, held out", 1, 1, accuracy(networks[kind], held)[0])
        seen = [case for each in self.practice for case in texts[each]]
        networks["text"] = fit(seen, epochs=self.config.epochs)
        networks["text"] = fit([*seen, *self._read_sets(networks, rng)], epochs=self.config.epochs)
        held = [case for each in held_out for case in texts[each]]
        if held:
            report("texts, held out", 1, 1, accuracy(networks["text"], held)[0])
        return networks

    def _read_sets(self, networks: dict[str, Network], rng: np.random.Generator) -> list[Case]:
        """Return cases of the files that the searcher reads in its games, half of them with a target put among them."""
        cases: list[Case] = []
        for kind in ("depth1", "depth2"):
            depths = KINDS[kind]
            for each in self.practice:
                if not fits(each, depths):
                    continue
                exercise = self.exercise(each, kind, networks)
                played = play(each, player(exercise, kind))
                files = list(played.read)
                right = [path for path in files if path in each.targets]
                if not right and rng.random() < 0.5:
                    files.append(each.targets[0])
                    right = [each.targets[0]]
                if files:
                    atlas = navigation_of(open_repository(each.folder), FILE_BUDGET)
                    rows = np.stack([self.asked(each).text_row(path, atlas.text(path)) for path in files])
                    cases.append(Case(rows, tuple(files.index(path) for path in right), True))
        return cases


def open_workshop(out: Path, weak: Path | None, repositories: Path | None, config: TrainConfig) -> Workshop:
    """Return the workshop of a run with all its training questions; without `weak`, the labelled ones alone."""
    written, ruled = further_questions(weak, repositories or weak.parent / "repositories.json") if weak else ([], [])
    return Workshop(out, labelled("train"), written, ruled, config)


def fits(question: Question, depths: Sequence[int] | None) -> bool:
    """Return whether a question's nearest target is at one of these depths."""
    return depths is None or min(target.count("/") for target in question.targets) in depths


def plan_of(kind: str) -> Plan:
    """Return the planner's settings for a kind."""
    depths = KINDS[kind]
    settings = {name: value for name, value in SETTINGS[kind].items() if name != "temperature"}
    return Plan(**settings, deepest=max(depths) if depths else None)


def player(exercise: Exercise, kind: str, plan: Plan | None = None) -> Callable[..., str]:
    """Return what plays an exercise by the planner."""
    holds, plan = holds_of(KINDS[kind]), plan or plan_of(kind)
    return lambda search, commands: choose(search, believe(search, exercise.rates, holds), plan).command


def policy_file(out: Path, recipe: Recipe, seed: int, rl: bool = True) -> Path:
    """Return where a policy of a run is written: after RL, or after imitation."""
    return out / f"{recipe.name(seed)}{'' if rl else '-sft'}.pt"


def practise(
    exercises: Sequence[Exercise],
    recipe: Recipe,
    seed: int,
    config: PracticeConfig,
    out: Path,
    report: Report,
) -> Path:
    """Train one policy: imitation of the searching teacher, then REINFORCE. What is there already is not made again.

    Args:
        exercises: Training questions with ratings.
        recipe: What to train.
        seed: Of all draws.
        config: The settings; without updates it stays with imitation.
        out: The run's folder, into which both policies are written.
        report: Called with the policy's name, the update, how many there are, and the share of games won.

    Returns:
        The file of the policy.

    Raises:
        UsageError: The policy that the curriculum starts from is missing.
    """
    holds, plan = holds_of(KINDS[recipe.kind]), plan_of(recipe.kind)
    inputs = Reflecting(plan) if recipe.reflects else command_features
    name = recipe.name(seed)
    imitated, trained = policy_file(out, recipe, seed, rl=False), policy_file(out, recipe, seed)
    if not imitated.exists():
        torch.manual_seed(seed)
        policy = new_policy(recipe.reflects)
        if recipe.before is not None:
            first = policy_file(out, recipe.before, seed)
            if not first.exists():
                raise UsageError(f"{first} is missing, from which {name} starts: practise {recipe.before.kind} first")
            policy = read_policy(first, recipe.reflects)
        warm_start(policy, exercises, holds, plan, config, seed, inputs)
        _write_policy(policy, imitated)
    if not config.updates:
        return imitated
    if trained.exists():
        return trained
    policy = read_policy(imitated, recipe.reflects)
    won: list[float] = []
    for update, share in by_reward(policy, exercises, holds, config, seed, inputs):
        won.append(share)
        report(name, update, config.updates, float(np.mean(won[-20:])))
    write_whole(out / f"{name}.json", json.dumps({"won": won, **asdict(config)}).encode())
    _write_policy(policy, trained)
    return trained


def _write_policy(policy: Policy, file: Path) -> None:
    content = io.BytesIO()
    torch.save(policy.state_dict(), content)
    write_whole(file, content.getvalue())
