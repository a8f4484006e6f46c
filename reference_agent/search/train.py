"""Trains a searcher: two judges of listings, then the networks over their ratings, then policies; each stage is kept.

The networks and policies learn on repositories that one of the judges has not seen, by its ratings. Test repositories
are never opened here.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
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
from reference_agent.search.reflect import TEXT_INPUTS, Reflecting
from reference_agent.search.run import KINDS, Judgement, Searcher, encoder
from reference_agent.search.weak import read_questions, read_written

Say = Callable[[str], None]
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
        say: Called with a line now and then.
    """

    def __init__(
        self,
        out: Path,
        train: Sequence[Question],
        written: Sequence[Question],
        ruled: Sequence[Question],
        config: TrainConfig,
        say: Say = print,
    ) -> None:
        self.out, self.train, self.config, self._say = out, list(train), config, say
        self._written, self._ruled = written, ruled
        self.practice = practice_questions(self.train)
        self.reader = encoder()
        self.reader.read_cache(out / "cache" / "reader.npz")
        self.judges: dict[str, ListingJudge] = {}
        self._exercises: dict[Question, Asked] = {}

    def train_judges(self, seconds: float = float("inf")) -> bool:
        """Train the two judges of listings, or go on with them; return whether both are finished."""
        started = time.monotonic()
        apart = [each for each in self.train if each.repository not in PRACTICE]
        for name, questions, config in (
            ("judge", self.train, self.config.judge),
            ("aside", apart, self.config.aside),
        ):
            judge = ListingJudge(encoder(), config.layers)

            def report(step: int, steps: int, value: float, name: str = name) -> None:
                if step % 25 == 0 or step == steps:
                    self._say(f"{name}: update {step} of {steps}, right {value:.2f}")

            file = self.out / "training" / f"{name}.pt"
            left = seconds - (time.monotonic() - started)
            if not train_listings(judge, (questions, self._written, self._ruled), config, file, report, left):
                return False
            self.judges[name] = judge
        return True

    def read_judges(self) -> None:
        """Take over the judges that the run's training has finished."""
        for name in ("judge", "aside"):
            self.judges[name] = trained_judge(self.out / "training" / f"{name}.pt", encoder())

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

    def fit_networks(self, held_out: Sequence[Question] = ()) -> dict[str, Network]:
        """Fit the networks of entries and texts on training questions; say how they do on others."""
        rng = np.random.default_rng(0)
        entries: dict[Question, list[Case]] = {}
        texts: dict[Question, list[Case]] = {}
        for count, each in enumerate([*self.practice, *held_out]):
            asked = self.asked(each)
            entries[each] = entry_cases(asked, each, rng) + entry_cases(asked, each, rng)
            texts[each] = text_cases(asked, each, rng, 3)
            if count % 100 == 99:
                self._say(f"features: {count + 1} questions")
        networks: dict[str, Network] = {}
        for kind, depths in KINDS.items():
            cases = [case for each in self.practice if fits(each, depths) for case in entries[each]]
            networks[kind] = fit(cases, epochs=self.config.epochs)
            held = [case for each in held_out if fits(each, depths) for case in entries[each]]
            if held:
                top, three = accuracy(networks[kind], held)
                self._say(f"entries {kind}: {top:.3f} right, {three:.3f} among three, held out")
        seen = [case for each in self.practice for case in texts[each]]
        networks["text"] = fit(seen, epochs=self.config.epochs)
        networks["text"] = fit([*seen, *self._read_sets(networks, rng)], epochs=self.config.epochs)
        held = [case for each in held_out for case in texts[each]]
        if held:
            self._say(f"texts: {accuracy(networks['text'], held)[0]:.3f} right, held out")
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


def practise(
    exercises: Sequence[Exercise],
    kind: str,
    reflects: bool,
    seed: int,
    config: PracticeConfig,
    out: Path,
    say: Say = print,
    start: Path | None = None,
) -> Policy:
    """Train one policy: imitation of the searching teacher, then REINFORCE; both are written into the run.

    Args:
        exercises: Training questions with ratings.
        kind: One of `KINDS`.
        reflects: Whether it reads the reflector's sentence.
        seed: Of all draws.
        config: The settings.
        out: The run's folder.
        say: Called with a line now and then.
        start: A policy to start from in place of a new one: the curriculum's stage before.
    """
    holds, plan = holds_of(KINDS[kind]), plan_of(kind)
    inputs = Reflecting(plan) if reflects else command_features
    torch.manual_seed(seed)
    policy = Policy(features=TEXT_INPUTS) if reflects else Policy()
    name = f"{'reflect' if reflects else 'policy'}-{kind}-{seed}"
    if start is not None:
        policy.load_state_dict(torch.load(start, weights_only=True))
    games = warm_start(policy, exercises, holds, plan, config, seed, inputs)
    say(f"{name}: imitated {games} games of the teacher")
    torch.save(policy.state_dict(), out / f"{name}-sft.pt")
    won: list[float] = []
    for update, share in by_reward(policy, exercises, holds, config, seed, inputs):
        won.append(share)
        if update % 20 == 0:
            say(f"{name}: update {update} of {config.updates}, won {np.mean(won[-20:]):.2f}")
    torch.save(policy.state_dict(), out / f"{name}.pt")
    (out / f"{name}.json").write_text(json.dumps({"won": won, **asdict(config)}), encoding="utf-8")
    return policy
