"""The folder of a player who remembers: its memory, the games that it learns from, its policies. A run resumes.

Each training question is met with a memory that was not taught it, by folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import save

from natlang_envs.autoexplore.dataset.labels import Label
from natlang_envs.files import alone, json_line, only_process, write_whole
from natlang_envs.tasks import hash_fraction
from reference_agent.families.autoexplore.memory.judge import JudgeLesson, judge_lesson, teach_judge
from reference_agent.families.autoexplore.memory.learning import count, folds_of, remember
from reference_agent.families.autoexplore.memory.questions import LEARNED, RecallQuestions, RecallTraining
from reference_agent.families.autoexplore.memory.teaching import (
    Kept,
    imitate,
    kept_games,
    read_games,
    reinforce,
    share,
    write_games,
)
from reference_agent.memory.evidence import EvidenceJudge, EvidenceWeights, StateReader
from reference_agent.memory.judging import LiftJudge, ModelJudge, Scale, WordJudge
from reference_agent.memory.names import NameMemory
from reference_agent.memory.plan import PlanWeights
from reference_agent.memory.player import ABOUT, JUDGE, LIFT, MEMORY, POLICY
from reference_agent.memory.policy import GoalPolicy, policy_of
from reference_agent.run.config import settled_precision
from reference_agent.run.fingerprint import claim_inputs

Report = Callable[[str, int, int, float], None]
SETTINGS, LIFTS, STATES, CURVE = "settings.json", "lifts.jsonl", "states.jsonl", "curve.json"
VALIDATION = "validation"
_FOLDS = 5


class StageScore(NamedTuple):
    """What a stage came to on the validation questions: games won greedily and sampled."""

    name: str
    greedy: float
    sampled: float


def train_player(
    out: Path,
    questions: RecallQuestions,
    lessons: RecallTraining,
    report: Report,
    *,
    seeds: int = 1,
    device: str = "cpu",
) -> list[StageScore]:
    """Learn a memory, then a policy for each seed: imitation, then reward; keep what wins most on validation.

    `out` gets the memory, the judge, the games, what the model said, and a policy of each stage and seed. `report` is
    called with a stage, a step, the steps and a share of games won. Raises `UsageError` if the folder holds a run of
    other settings, or there is no such model.
    """
    lessons = _here(lessons, device)
    out.mkdir(parents=True, exist_ok=True)
    with only_process(out):
        claim_inputs(out / SETTINGS, {"seeds": seeds, **_inputs(questions, lessons)})
        games, held = known_games(out, questions, lessons, report, device)
        settings = plan_weights(out, lessons)
        found = [StageScore("plan", share(None, held, settings), share(None, held, settings))]
        best: tuple[float, bytes] | None = None
        for seed in range(seeds):
            for stage, each in (("sft", lessons._replace(updates=0)), ("rl", lessons)):
                file = out / f"policy-{stage}-{seed}.safetensors"
                if not file.exists():
                    weights, _ = teach_policy(games, held, settings, each, seed, report)
                    write_whole(file, weights)
                policy = policy_of(file.read_bytes(), file)
                greedy = share(policy, held, settings)
                found.append(StageScore(f"{stage}, seed {seed}", greedy, share(policy, held, settings, seed)))
                if best is None or greedy > best[0]:
                    best = greedy, file.read_bytes()
        if best is not None:
            write_whole(out / POLICY, best[1])
        _write_about(out, lessons, found)
        return found


def train_cell(
    folder: Path, shared: Path, questions: RecallQuestions, lessons: RecallTraining, seed: int, report: Report
) -> None:
    """Make `folder` that of one player with one policy; memory, games and lifts come from `shared`, or are made there.

    Raises:
        UsageError: As `train_player`.
    """
    if (folder / ABOUT).exists():
        return
    lessons = _here(lessons)
    with alone(shared.with_name(f".{shared.name}.lock")):
        shared.mkdir(parents=True, exist_ok=True)
        of_games = {name: value for name, value in _inputs(questions, lessons).items() if name in _OF_GAMES}
        claim_inputs(shared / SETTINGS, of_games)
        games, held = known_games(shared, questions, lessons, report)
    settings = plan_weights(shared, lessons)
    weights, curve = teach_policy(games, held, settings, lessons, seed, report)
    policy = policy_of(weights, folder)
    score = StageScore(f"seed {seed}", share(policy, held, settings), share(policy, held, settings, seed))
    for name in (MEMORY, JUDGE):
        if (shared / name).exists():
            write_whole(folder / name, (shared / name).read_bytes())
    write_whole(folder / POLICY, weights)
    write_whole(folder / CURVE, json_line(curve))
    _write_about(folder, lessons, [score])


def claim_cell(folder: Path, lessons: RecallTraining, seed: int) -> None:
    """Raise `UsageError` if the folder holds what was trained by other settings."""
    claim_inputs(folder / SETTINGS, {"seed": seed, **_here(lessons)._asdict()})


def plan_weights(folder: Path, lessons: RecallTraining) -> PlanWeights:
    """Return what the plan weighs with the judge of a folder."""
    if lessons.model and lessons.judge == LEARNED:
        return EvidenceWeights.read((folder / JUDGE).read_bytes(), folder / JUDGE).plan
    return PlanWeights(lift=LIFT if lessons.model else 0.0)


_OF_GAMES = ("model", "judge", "precision", "questions", "repositories")


def _here(lessons: RecallTraining, device: str = "cpu") -> RecallTraining:
    """Return the settings with the precision that a model reads with on this machine."""
    return lessons._replace(precision=settled_precision(lessons.precision, device) if lessons.model else "")


def _inputs(questions: RecallQuestions, lessons: RecallTraining) -> dict[str, object]:
    return {**lessons._asdict(), "repositories": list(questions.folders)}


def _write_about(folder: Path, lessons: RecallTraining, found: Sequence[StageScore]) -> None:
    about = {"model": lessons.model, "precision": lessons.precision}
    write_whole(folder / ABOUT, json_line({**about, "validation": [each._asdict() for each in found]}))


def known_games(
    out: Path, questions: RecallQuestions, lessons: RecallTraining, report: Report, device: str = "cpu"
) -> tuple[list[Kept], list[Kept]]:
    """Return the games of training, each by a memory that was not taught its question, and those of validation.

    The memory that was taught all training questions, a learned judge, the games and what a model said are kept in
    `out`.
    """
    torch.set_num_threads(1)
    folds = folds_of(questions.train, _FOLDS)
    held = {f"fold{number}": fold for number, fold in enumerate(folds)} | {VALIDATION: list(questions.validation)}
    files = {name: out / f"games-{name}.json" for name in held}
    taught = [out / JUDGE] if lessons.model and lessons.judge == LEARNED else []
    new = not all(file.exists() for file in (*files.values(), *taught))
    reader = _reader(out, lessons, device) if new and lessons.model else None
    memories = _memories(out, questions, folds, report)
    drawn: dict[str, list[Label]] = {}
    for name, labels in held.items():
        most = lessons.questions and max(1, lessons.questions // (1 if name == VALIDATION else _FOLDS))
        drawn[name] = sorted(labels, key=lambda label: hash_fraction(f"recall/{label.id}"))[:most]
    if new:
        judges = _judges(out, memories, drawn, questions, reader, report)
        for name, file in files.items():
            scale = Scale(WordJudge(memories[name].rarity), judges[name])
            kept: list[Kept] = []
            for game in kept_games(memories[name], drawn[name], questions.folders, scale):
                kept.append(game)
                won = sum(any(each.right) for each in kept) / len(kept)
                report(f"games of {name}", len(kept), len(drawn[name]), won)
            write_games(file, kept)
    found = [read_games(file, memories[name]) for name, file in files.items()]
    return [game for fold in found[:-1] for game in fold], found[-1]


def _memories(
    out: Path, questions: RecallQuestions, folds: Sequence[Sequence[Label]], report: Report
) -> dict[str, NameMemory]:
    """Return the memory that meets each fold, and that of all training questions, which meets validation."""
    counted = None
    found: dict[str, NameMemory] = {}
    for at in range(len(folds) + 1):
        name, file = (
            (f"fold{at}", out / f"memory-fold{at}.safetensors") if at < len(folds) else (VALIDATION, out / MEMORY)
        )
        if not file.exists():
            counted = counted or count(
                questions.folders, report=lambda done, total: report("memory", done, total, done / total)
            )
            rest = [label for other, fold in enumerate(folds) if other != at for label in fold]
            remember(counted, rest, questions.folders, "questions").write(file)
        found[name] = NameMemory.read(file)
    return found


def _reader(out: Path, lessons: RecallTraining, device: str) -> LiftJudge | StateReader:
    """Return what reads with the model, which is loaded at once: an unknown one is refused before anything is made."""
    found = (
        StateReader(lessons.model, out / STATES, device, lessons.precision)
        if lessons.judge == LEARNED
        else LiftJudge(lessons.model, out / LIFTS, device, lessons.precision)
    )
    found.model  # noqa: B018
    return found


def _judges(
    out: Path,
    memories: Mapping[str, NameMemory],
    drawn: Mapping[str, Sequence[Label]],
    questions: RecallQuestions,
    reader: LiftJudge | StateReader | None,
    report: Report,
) -> Mapping[str, ModelJudge | None]:
    """Return what judges the texts of each fold and of validation: a learned judge was not taught their questions."""
    if not isinstance(reader, StateReader):
        return dict.fromkeys(drawn, reader)
    taught: dict[str, list[JudgeLesson]] = {}
    for name, labels in drawn.items():
        taught[name] = []
        for number, label in enumerate(labels, 1):
            lesson = judge_lesson(memories[name], label, questions.folders, reader)
            taught[name] += [lesson] if lesson is not None else []
            report(f"texts of {name}", number, len(labels), len(taught[name]) / number)
    judges: dict[str, ModelJudge | None] = {}
    for name in drawn:
        rest = [each for other, found in taught.items() if other not in (name, VALIDATION) for each in found]
        weights = teach_judge(rest)
        judges[name] = EvidenceJudge(reader, weights)
        if name == VALIDATION:
            write_whole(out / JUDGE, weights.write())
    return judges


def teach_policy(
    games: Sequence[Kept],
    held: Sequence[Kept],
    settings: PlanWeights,
    lessons: RecallTraining,
    seed: int,
    report: Report,
) -> tuple[bytes, list[dict[str, object]]]:
    """Return the weights that won most validation games, the start of RL included, and the learning curve."""
    torch.manual_seed(seed)
    policy = GoalPolicy(lessons.reflections)
    imitate(policy, games, settings, lessons, seed)
    curve: list[dict[str, object]] = []
    if not lessons.updates:
        return save(policy.state_dict()), curve

    def note(update: int, updates: int, won: float) -> None:
        curve.append({"stage": 0, "success": won, "episodes": update * lessons.batch * lessons.samples})
        report(f"reward, seed {seed}", update, updates, won)

    best, weights = share(policy, held, settings), save(policy.state_dict())
    for won in reinforce(policy, games, held, settings, lessons, seed, note):
        if won > best:
            best, weights = won, save(policy.state_dict())
    return weights, curve
