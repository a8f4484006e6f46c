"""A player who remembers: `--agent recall:FILE` judges by words, `recall:FILE@MODEL` by a model's lift, too.

`recall-sample:RUN` samples its goals from a learned policy at temperature 1.

It reads the files that its memory names, in the order of belief and nearness, as far as the steps allow the way back,
and names the one whose text answers best. Where it remembers nothing, names or the lists of searches take the place of
its memory. It uses only its memory and what a player is shown.
With the environment variable NATLANG_LIFTS=FILE, what the model said is kept in a file and not computed again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import published
from natlang_envs.evaluation.agents import AgentInput, Decision
from natlang_envs.repository.texts import EXIT, read_question, steps_left
from natlang_envs.repository.walk import Walk, WalkMemory, path_of
from reference_agent.memory.exploring import (
    LOOKED_AT,
    NameHopes,
    Unopened,
    around,
    by_names,
    explore,
    in_lists,
    lists_of,
)
from reference_agent.memory.judging import Judgement, LiftJudge, Scale, ShownPart, WordJudge, shown_text
from reference_agent.memory.names import NameMemory, is_memory
from reference_agent.memory.plan import (
    FileGoal,
    PlanWeights,
    RecallSituation,
    choose,
    goals,
    located,
    name,
    recognise,
    standing,
)

if TYPE_CHECKING:
    import numpy as np

    from reference_agent.memory.policy import GoalPolicy

LIFT = 0.4  # what a lift is worth beside the share of words, by validation
KIND = "recall"  # the policy of a published player
_RECORDED = "bf16"  # the precision of players that do not say theirs
MEMORY, POLICY, ABOUT, JUDGE = "memory.safetensors", "policy.safetensors", "player.json", "judge.safetensors"


class Sight(NamedTuple):
    """What an agent sees."""

    question: str  # what is asked
    situation: RecallSituation  # the game in progress
    shown: Mapping[str, Sequence[ShownPart]]  # the parts that were shown of each file
    gone: Sequence[str] = ()  # remembered files that are not where they were
    remembered: int = 0  # how many files were recalled; 0 where the repository is not remembered
    unopened: Sequence[Unopened] = ()  # what may be opened in a repository that is not remembered
    weights: PlanWeights | None = None  # what files are named by there; None where the repository is remembered
    by_words: PlanWeights = PlanWeights()  # what they are compared by before a model has judged


class CurrentGoal(NamedTuple):
    """What a game is on the way to: `cat` of a file up to a part, or `id` of it."""

    verb: str
    path: str
    part: int


class RecallAgent:
    """Reads what it remembers, and names what answers best."""

    def __init__(
        self,
        memory: NameMemory,
        scale: Scale,  # weighs what it reads
        settings: PlanWeights | None = None,  # what its plan weighs
        policy: GoalPolicy | None = None,  # chooses the next goal; the plan does without one
        sampling: bool = False,  # whether the policy's goals are sampled, at temperature 1
    ) -> None:
        self.memory, self.scale, self.settings = memory, scale, settings or PlanWeights()
        self._by_words = self.settings if self.settings.words else PlanWeights()  # before a model has judged
        self.policy, self.sampling = policy, sampling
        self._paths = WalkMemory()
        self._aims: dict[Hashable, CurrentGoal] = {}
        self._hopes: dict[str, NameHopes] = {}

    def sampled(self) -> RecallAgent:
        """Return an agent of the same memory and policy whose goals are sampled."""
        return RecallAgent(self.memory, self.scale, self.settings, self.policy, sampling=True)

    def act(self, views: Sequence[AgentInput]) -> list[Decision]:
        return [self._decide(view, self.look(view)) for view in views]

    def look(self, view: AgentInput) -> Sight:
        question, left = read_question(view.task), steps_left(view.observation, "recall")
        shown = _shown(question, view)
        if any(
            each.startswith("search ") for each in (*view.admissible_commands, *(step.action for step in view.path))
        ):
            walk, candidates, unopened = lists_of(question, view.path, view.admissible_commands)
            situation = RecallSituation(walk, left, candidates, _judged(shown, self.scale.by_words))
            return Sight(question, situation, shown, (), 0, unopened, in_lists(self.settings), in_lists(self._by_words))
        seen = self._paths.see(view.rng, view.path, view.admissible_commands)
        number = recognise(self.memory.known, seen.listed, partial(self._belief, question))
        if number is None:
            if question not in self._hopes:
                self._hopes[question] = NameHopes(self.memory, question)
            candidates, unopened = around(self._hopes[question], seen)
            situation = RecallSituation(seen.walk, left, candidates, _judged(shown, self.scale.by_words))
            return Sight(question, situation, shown, (), 0, unopened, by_names(self.settings), by_names(self._by_words))
        recalled = self.memory.recall(number, question, 2 * self.settings.files)
        candidates, gone = located(recalled, self.memory.known[number].files, seen)
        situation = RecallSituation(seen.walk, left, candidates[: self.settings.files], _judged(shown, self.scale))
        return Sight(question, situation, shown, gone, len(recalled))

    def _belief(self, question: str, number: int) -> float:
        return max((each.belief for each in self.memory.recall(number, question, 1)), default=0.0)

    def _goal(self, game: np.random.Generator, situation: RecallSituation) -> FileGoal | None:
        """Return the goal that a game is on the way to, or choose the next."""
        aim = self._aims.get(game)
        if aim is not None and len(situation.judgements.get(aim.path, ())) < aim.part:
            found = [each for each in goals(situation, self.settings) if (each.verb, each.candidate.path) == aim[:2]]
            if found:
                return found[0]
        if self.policy is None:
            goal = choose(situation, self.settings)
        else:
            goal = self.policy.choose(situation, self.settings, game if self.sampling else None)
        if goal is not None:
            path = goal.candidate.path
            self._aims[game] = CurrentGoal(
                goal.verb, path, len(situation.judgements.get(path, ())) + max(1, goal.parts)
            )
        return goal

    def _decide(self, view: AgentInput, sight: Sight) -> Decision:
        situation, weights = sight.situation, sight.weights
        if not view.path:
            self._aims.pop(view.rng, None)
        if weights is None:
            goal = self._goal(view.rng, situation)
        else:
            goal = explore(situation, sight.unopened, sight.by_words)
            if isinstance(goal, Unopened):
                return Decision(situation.walk.towards(goal.place, goal.command), looking(goal))
            if goal is None:
                sight = sight._replace(situation=self._looked_at(sight))
                goal = name(sight.situation, weights)
        if goal is None:
            return Decision(EXIT, "No file is within reach.")
        reflects = weights is not None or self.policy is None or self.policy.reflects
        said = reflection(sight, goal, weights or self.settings) if reflects else None
        return Decision(situation.walk.towards(goal.candidate.listed, goal.command), said)

    def _looked_at(self, sight: Sight) -> RecallSituation:
        """Return the situation with the best files by words alone, judged by the model, too."""
        situation = sight.situation
        stands = standing(situation, sight.by_words)
        best = sorted(stands, key=lambda path: -stands[path])[:LOOKED_AT]
        shown = {path: each for path, each in sight.shown.items() if path in best}
        return situation._replace(judgements=_judged(shown, self.scale))


def _shown(question: str, view: AgentInput) -> dict[str, list[ShownPart]]:
    """Return the parts that were shown, by their files."""
    walk, shown = Walk(), dict[str, list[ShownPart]]()
    for step in view.path:
        walk.follow(step.action)
        if step.action.startswith("cat "):
            path = path_of(walk.here.folder, step.action[4:])
            parts = shown.setdefault(path, [])
            parts.append(ShownPart(question, path, len(parts) + 1, shown_text(step.feedback)))
    return shown


def _judged(
    shown: Mapping[str, Sequence[ShownPart]], judge: Callable[[ShownPart], Judgement]
) -> dict[str, list[Judgement]]:
    return {path: list(map(judge, parts)) for path, parts in shown.items()}


def reflection(sight: Sight, goal: FileGoal, settings: PlanWeights) -> str:
    """Return what a player says before it goes on to a goal: what was read, what looks best, and what is next."""
    situation, said = sight.situation, list[str]()
    if sight.gone:
        share = len(sight.gone) / sight.remembered
        said.append(f"{share:.0%} of what I remember is not here: {', '.join(sight.gone[:3])}.")
    parts = [f"{path} ({len(each)} part{'s'[: len(each) > 1]})" for path, each in sight.shown.items()]
    if parts:
        said.append(f"Read so far: {', '.join(parts)}.")
    stands = standing(situation, settings)
    best = max(stands, key=lambda path: stands[path], default=None)
    if best is not None and (len(stands) > 1 or goal.verb == "id"):
        judgement = max(
            situation.judgements[best], key=lambda each: settings.words * each.words + settings.lift * each.lift
        )
        likelier = f", and makes it {'more' if judgement.lift > 0 else 'less'} likely" if judgement.lift else ""
        why = (
            f"holds {judgement.words:.0%} of the question{likelier}" if settings.words else "reads most like an answer"
        )
        said.append(f"{best} looks best: it {why}.")
    if goal.verb == "cat":
        ahead = f"part {goal.parts}" if goal.candidate.path not in situation.judgements and goal.parts > 1 else ""
        what = f"{ahead} of {goal.candidate.path}" if ahead else goal.candidate.path
        knows = "I remember" if sight.weights is None else "What is listed speaks for"
        said.append(f"{knows} {what}: {_steps(goal.steps)}, and {_steps(goal.back)} to come back and name the best.")
    else:
        said.append(f"I name {goal.candidate.path}.")
    return " ".join([*said, f"{_steps(situation.left)} {'is' if situation.left == 1 else 'are'} left."])


def looking(chosen: Unopened) -> str:
    """Return what a player says before it opens a folder or page, or searches."""
    verb, _, what = chosen.command.partition(" ")
    if verb == "search":
        return f"I search for {what}, a rare word of the question."
    page = f"page {chosen.behind.page + 1} of " if chosen.behind.page else ""
    return f"I do not know this repository. I look into {page}{'/'.join(chosen.behind.folder) or 'the top folder'}."


def _steps(number: int) -> str:
    return f"{number} step{'s'[: number != 1]}"


def contents_of(path: Path) -> dict[str, bytes]:
    """Return the files of a player by their names.

    `path` is a memory, a folder of `reflect-rl recall`, a policy or the judge in it, or a published player.
    """
    if published.is_published(path):
        policy, files = published.published_files(path)
        if policy != KIND:
            raise UsageError(f"{path} plays by {policy[:40]!r} and not by what it recalls: name another agent")
        return {name: published.unpacked(file) for name, file in files.items()}
    if is_policy(path):
        return _files_of(path.parent, MEMORY, ABOUT) | {POLICY: path.read_bytes()}
    of_judge = path.name == JUDGE and path.is_file()  # its plan goes by the judge
    if not path.is_dir() and not of_judge:
        return {MEMORY: path.read_bytes() if path.is_file() else b""}
    folder = path.parent if of_judge else path
    if not (folder / ABOUT).is_file():
        raise UsageError(f"{folder} holds no player: run `reflect-rl recall --out {folder}` to its end")
    return _files_of(folder, *((MEMORY, ABOUT) if of_judge else (MEMORY, POLICY, ABOUT)))


def _files_of(folder: Path, *names: str) -> dict[str, bytes]:
    """Return files of a run by their names, that of a learned judge among them where there is one."""
    judge = (JUDGE,) if (folder / JUDGE).is_file() else ()
    return {name: (folder / name).read_bytes() for name in (*names, *judge)}


def is_policy(path: Path) -> bool:
    """Return whether a file is a policy in a folder of `reflect-rl recall`."""
    return (
        path.suffix == ".safetensors"
        and path.is_file()
        and (path.parent / ABOUT).is_file()
        and path.name not in (MEMORY, JUDGE)
    )


def recalls(path: Path) -> bool:
    """Return whether this is a memory, a folder of `reflect-rl recall`, or a policy or the judge in it."""
    return (path / MEMORY).exists() or path.name == JUDGE or is_memory(path) or is_policy(path)


def publish(path: Path, player: Path) -> None:
    """Write a memory, a folder of `reflect-rl recall`, or a policy or the judge in it, as a published player."""
    contents = contents_of(path)
    NameMemory.of(contents[MEMORY], path)
    published.publish(player, KIND, contents)


def _loaded(argument: str, sampling: bool) -> RecallAgent:
    """Return the agent of `recall:FILE` or `recall:FILE@MODEL`, or of `recall-sample`, whose goals are sampled.

    FILE is a memory, a folder of `reflect-rl recall`, a policy or the judge in it, or one of them published.
    """
    name = "recall-sample" if sampling else "recall"
    path, model = published.split_model(argument)
    if not argument or argument.startswith("@"):
        raise UsageError(f"agent {name} needs a memory: write --agent recall:FILE, a file of `reflect-rl remember`")
    table = os.environ.get("NATLANG_LIFTS")  # keeps lifts from one run for the next
    found = remembering(path, model.removeprefix("@"), Path(table) if table else None, name)
    if not sampling:
        return found
    if found.policy is None:
        raise UsageError(f"{path} has no policy whose goals could be sampled: write --agent recall:{argument}")
    return found.sampled()


load, load_sampling = partial(_loaded, sampling=False), partial(_loaded, sampling=True)


def remembering(
    path: Path, model: str, lifts: Path | None = None, name: str = "recall", precision: str = "auto"
) -> RecallAgent:
    """Return the agent, called `name` in messages, of a memory, a folder of `reflect-rl recall` or a published player.

    Its texts are judged by `model`, with learned weights where they are there, else by lifts; by words alone if it is
    empty. The table `lifts` keeps what the model said for the next run. A run's player computes as it learned, a
    published one as it was recorded, and a memory alone in `precision`.
    """
    policy, contents = None, contents_of(path)
    precision = _RECORDED if published.is_published(path) else precision
    memory = NameMemory.of(contents.get(MEMORY, b""), path)
    if ABOUT in contents:
        about = json.loads(contents[ABOUT])
        used, precision = about["model"], about.get("precision", _RECORDED)
        if used != model:
            right = f"{name}:{path}@{used}" if used else f"{name}:{path}"
            raise UsageError(f"{path} learned with {used or 'no model'}: write --agent {right}")
    if POLICY in contents:
        from reference_agent.memory.policy import policy_of  # torch, which the plan does without

        policy = policy_of(contents[POLICY], path)
    judge, settings = None, PlanWeights()
    if model:
        import torch

        torch.set_num_threads(1)  # the same numbers whatever else runs; --workers use the other cores
        if JUDGE in contents:
            from reference_agent.memory.evidence import EvidenceJudge, EvidenceWeights, StateReader

            weights = EvidenceWeights.read(contents[JUDGE], path)
            judge, settings = EvidenceJudge(StateReader(model, lifts, precision=precision), weights), weights.plan
        else:
            judge, settings = LiftJudge(model, lifts, precision=precision), PlanWeights(lift=LIFT)
    return RecallAgent(memory, Scale(WordJudge(memory.rarity), judge), settings, policy)
