"""One folder for a player who remembers: its memory, the games that it learns from, its policies. A run resumes.

Each training question is met with a memory that was not taught it, by folds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from safetensors.torch import load, save

from natlang_envs.autoexplore.dataset.labels import Label
from natlang_envs.files import json_line, only_process, write_whole
from natlang_envs.tasks import hash_fraction
from reference_agent.families.autoexplore.memory.learning import count, folds_of, remember
from reference_agent.families.autoexplore.memory.teaching import (
    Kept,
    RecallTraining,
    imitate,
    kept_games,
    read_games,
    reinforce,
    share,
    write_games,
)
from reference_agent.memory.judging import LiftJudge, Scale, WordJudge
from reference_agent.memory.names import NameMemory
from reference_agent.memory.plan import PlanWeights
from reference_agent.memory.player import ABOUT, LIFT, MEMORY, POLICY
from reference_agent.memory.policy import GoalPolicy, policy_of
from reference_agent.run.fingerprint import claim_inputs

Report = Callable[[str, int, int, float], None]
_FOLDS = 5


class StageScore(NamedTuple):
    """What a stage came to on the validation questions: games won greedily and sampled."""

    name: str
    greedy: float
    sampled: float


def train_player(
    out: Path,
    folders: Mapping[str, Path],
    train: Sequence[Label],
    validation: Sequence[Label],
    model: str,
    lessons: RecallTraining,
    report: Report,
    *,
    seeds: int = 1,
    questions: int | None = None,
    device: str = "cpu",
) -> list[StageScore]:
    """Learn a memory, then a policy for each seed: imitation, then reward; keep what wins most on validation.

    `out` gets the memory, the games, the table of lifts, and a policy of each stage and seed; `questions` bounds the
    number of each of both kinds. `report` is called with a stage, a step, the steps and a share of games won. Raises
    `UsageError` if the folder holds a run of other settings, or there is no such model.
    """
    out.mkdir(parents=True, exist_ok=True)
    with only_process(out):
        inputs = {"model": model, "seeds": seeds, "questions": questions, **lessons._asdict()}
        claim_inputs(out / "settings.json", {**inputs, "repositories": list(folders)})
        torch.set_num_threads(1)
        settings = PlanWeights(lift=LIFT if model else 0.0)
        games, held = _games(out, folders, train, validation, model, questions, device, report)
        found = [StageScore("plan", share(None, held, settings), share(None, held, settings))]
        best: tuple[float, bytes] | None = None
        for seed in range(seeds):
            for stage in ("sft", "rl"):
                file = out / f"policy-{stage}-{seed}.safetensors"
                if not file.exists():
                    start = out / f"policy-sft-{seed}.safetensors" if stage == "rl" else None
                    write_whole(file, _taught(stage, start, games, held, settings, lessons, seed, report))
                policy = policy_of(file.read_bytes(), file)
                greedy = share(policy, held, settings)
                found.append(StageScore(f"{stage}, seed {seed}", greedy, share(policy, held, settings, seed)))
                if best is None or greedy > best[0]:
                    best = greedy, file.read_bytes()
        if best is not None:
            write_whole(out / POLICY, best[1])
        stages = [each._asdict() for each in found]
        write_whole(out / ABOUT, json_line({"model": model, "validation": stages}))
        return found


def _games(
    out: Path,
    folders: Mapping[str, Path],
    train: Sequence[Label],
    validation: Sequence[Label],
    model: str,
    questions: int | None,
    device: str,
    report: Report,
) -> tuple[list[Kept], list[Kept]]:
    """Return the games of training, each by a memory that was not taught its question, and those of validation."""
    lift = LiftJudge(model, out / "lifts.jsonl", device) if model else None
    folds = folds_of(train, _FOLDS)
    held = {f"fold{number}": fold for number, fold in enumerate(folds)} | {"validation": list(validation)}
    counted = None
    found: list[list[Kept]] = []
    for at, (name, labels) in enumerate(held.items()):
        file = out / f"games-{name}.json"
        memory_file = out / MEMORY if name == "validation" else out / f"memory-{name}.safetensors"
        if not memory_file.exists():
            counted = counted or count(folders, report=lambda done, total: report("memory", done, total, 0.0))
            rest = [label for other, fold in enumerate(folds) if other != at for label in fold]
            remember(counted, rest, folders, "questions").write(memory_file)
        memory = NameMemory.read(memory_file)
        if not file.exists():
            most = questions and max(1, questions if name == "validation" else questions // _FOLDS)
            drawn = sorted(labels, key=lambda label: hash_fraction(f"recall/{label.id}"))[:most]
            scale = Scale(WordJudge(memory.rarity), lift)
            kept: list[Kept] = []
            for game in kept_games(memory, drawn, "natural", folders, scale, PlanWeights().files):
                kept.append(game)
                report(f"games of {name}", len(kept), len(drawn), sum(any(each.right) for each in kept) / len(kept))
            write_games(file, kept)
        found.append(read_games(file, memory))
    return [game for fold in found[:-1] for game in fold], found[-1]


def _taught(
    stage: str,
    start: Path | None,
    games: Sequence[Kept],
    held: Sequence[Kept],
    settings: PlanWeights,
    lessons: RecallTraining,
    seed: int,
    report: Report,
) -> bytes:
    """Return the weights after a stage; by reward those that won most validation games, the start included."""
    torch.manual_seed(seed)
    policy = GoalPolicy(lessons.reflections)
    if start is None:
        imitate(policy, games, settings, lessons, seed)
        return save(policy.state_dict())
    policy.load_state_dict(load(start.read_bytes()))
    best, weights = share(policy, held, settings), save(policy.state_dict())
    steps = reinforce(
        policy, games, held, settings, lessons, seed, lambda *progress: report(f"reward, seed {seed}", *progress)
    )
    for won in steps:
        if won > best:
            best, weights = won, save(policy.state_dict())
    return weights
