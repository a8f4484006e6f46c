"""p(s) and the algorithm as plain functions, whose source is part of what a folder was made from."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest
import torch

from examples.own_updates import PREFERENCES, PreferenceSettings, advantage_weighted
from natlang_envs.errors import UsageError
from natlang_envs.prompt import PathStep
from reference_agent import (
    CollectConfig,
    Players,
    PolicySFTConfig,
    RLConfig,
    Stage,
    collect,
    fine_tune_policy,
    reinforce,
)
from reference_agent.algorithms import GROUP, Algorithm, AlgorithmSettings, methods
from reference_agent.algorithms.policy_gradient import Learner, Update
from reference_agent.players import PolicyDecision
from reference_agent.rollout import Episode
from reference_agent.run.bounds import at_least
from reference_agent.run.config import Config
from reference_agent.run.stages import claim

TAXI = "NatLang/DangerousTaxi-Pickup-v0"
FAMILIES = [
    (TAXI, {}),
    ("NatLang/AutoExplore-v0", {"dataset": "embedded", "split": "train"}),
    ("NatLang/ALFWorld-v0", {"split": "train"}),
]
FEW = CollectConfig(trajectories=1, policy_trajectories=1, negatives=0)


def brief(task: str, path: Sequence[PathStep], observation: str, commands: Sequence[str]) -> str:
    """Compose a short p(s)."""
    return f"{len(path)} steps. {observation[-60:]} {len(commands)} commands."


def nothing(learner: Learner, episodes: Sequence[Episode]) -> Update:
    return Update(updates=0)


def edited(learner: Learner, episodes: Sequence[Episode]) -> Update:
    return Update(updates=len(episodes))


edited.__name__ = edited.__qualname__ = "nothing"  # the same name, another source


def curve(algorithm: Any, folder: Path | None = None) -> list[dict[str, float]]:
    policy = Players.of(reflect=False).policy
    return reinforce(policy, None, Stage(TAXI, 1), RLConfig(algorithm, batch=4, checkpoint_every=1), folder=folder)


def test_an_algorithm_is_a_plain_function_and_an_edited_one_gets_no_old_curve(tmp_path: Path) -> None:
    first = curve(nothing, tmp_path)
    assert [row["updates"] for row in first] == [0]
    assert curve(nothing, tmp_path) == first, "the same one does"
    with pytest.raises(UsageError, match=r"made from other inputs \(settings\.algorithm is another one\)"):
        curve(edited, tmp_path)
    assert RLConfig(methods.rloo, {"group": 4}, batch=8).group == 4, "ours keeps its settings"


def test_the_code_behind_a_registered_name_is_part_of_a_folder_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("nothing", "edited"):
        entry = EntryPoints([EntryPoint("own", f"{__name__}:{name}", GROUP)])
        monkeypatch.setattr(
            "reference_agent.algorithms.entry_points", lambda group, e=entry, **named: e.select(**named)
        )
        if name == "nothing":
            curve("own", tmp_path / "rl")
            claim(Config(rl=RLConfig("own"), curriculum=(Stage(TAXI, 1),)), tmp_path / "run")
    with pytest.raises(UsageError, match=r"made from other inputs \(settings\.update is another one\)"):
        curve("own", tmp_path / "rl")
    with pytest.raises(UsageError, match=r"made from other inputs \(algorithm\.update is another one\)"):
        claim(Config(rl=RLConfig("own"), curriculum=(Stage(TAXI, 1),)), tmp_path / "run")


@dataclass(frozen=True)
class Grouped(AlgorithmSettings):
    """Settings with a group."""

    group: int = at_least(2, 2)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: RLConfig(nothing, {"epochs": 9}), r"rl\.nothing\.epochs is no setting of a function alone: give Alg"),
        (lambda: RLConfig(3), r"3 is no algorithm: give a name, a function of a Learner and its episodes, or an"),
        (lambda: Algorithm(3), "3 is no update: give a function"),
        (lambda: Algorithm(nothing, dict), "dict'> are no settings: give a subclass of AlgorithmSettings"),
        (lambda: Algorithm(nothing, Grouped), "has compares=True and a setting `group`"),
        (lambda: Algorithm(nothing, compares=True), "has compares=True and a setting `group`"),
        (
            lambda: curve(lambda learner, episodes: methods.rloo(learner, episodes)),
            "groups of one episode compare nothi",
        ),
        (
            lambda: RLConfig(Algorithm(nothing, Grouped, True), batch=3),
            r"rl\.nothing\.group 2 does not divide rl\.batch",
        ),
    ],
)
def test_what_an_algorithm_cannot_be_is_refused(make: Any, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        make()


def played(better: int, worse: int) -> list[Episode]:
    """Return two episodes of one step at the same prompt, of which the first wins."""
    prompt, labels = "Where?\nActions:\nA. left\nB. right\nChoice:\n", ["A", "B"]
    choices = [PolicyDecision("Where?", prompt, labels, each, None, -0.7) for each in (better, worse)]
    return [Episode([choices[0]], [1.0], True), Episode([choices[1]], [-1.0], False)]


@pytest.mark.parametrize(
    "settings",
    [RLConfig(advantage_weighted, batch=2), RLConfig(PREFERENCES, {"group": 2}, batch=2)],
    ids=["advantage-weighted", "preferences"],
)
def test_an_update_of_the_examples_makes_the_better_choice_likelier(settings: RLConfig) -> None:
    after: dict[int, float] = {}
    for better in (0, 1):
        policy = Players.of(reflect=False).policy
        learner = Learner(policy, policy.optimizer(4e-4), settings, None)  # type: ignore[arg-type]
        load = settings.algorithm.update if isinstance(settings.algorithm, Algorithm) else settings.algorithm
        for _ in range(8):
            told = load(learner, played(better, 1 - better))  # type: ignore[operator]
        assert told.updates == 1
        with torch.no_grad():
            logits = policy.choice_logits([played(0, 1)[0].decisions[0].prompt], [["A", "B"]])
        after[better] = float(torch.softmax(logits, 1)[0, 0])
    assert after[0] > 0.6 > 0.4 > after[1]


def test_examples_without_a_pair_are_not_learned_from() -> None:
    won = played(0, 0)
    policy = Players.of(reflect=False).policy
    settings = RLConfig(PREFERENCES, {"group": 2}, batch=2)
    learner = Learner(policy, policy.optimizer(4e-4), settings, None)  # type: ignore[arg-type]
    before = policy.fingerprint()
    assert PREFERENCES.update(learner, won) == Update(updates=0)
    assert policy.fingerprint() == before
    assert PreferenceSettings().group == 8


@pytest.mark.parametrize("algorithm", [advantage_weighted, PREFERENCES], ids=["advantage-weighted", "preferences"])
def test_the_examples_train_and_take_the_same_step_in_parts(algorithm: Any) -> None:
    start = Players.of(reflect=False).policy
    unsure = PolicySFTConfig(steps=5, batch=8, smoothing=0.9)
    fine_tune_policy(start, collect(TAXI, settings=FEW), unsure, reflect=False)
    made = []
    for microbatch in (0, 2):
        settings = RLConfig(algorithm, batch=32, microbatch=microbatch)
        (row,) = reinforce(start.copy(), None, Stage(TAXI, 1), settings)
        made.append([row["loss"], row["gradient_norm"], row["entropy"]])
    assert made[0][1] > 0
    assert made[0][:2] == pytest.approx(made[1][:2], rel=1e-3)


@pytest.mark.parametrize(("env", "kwargs"), FAMILIES)
def test_every_family_is_shown_what_the_function_says_or_all_commands(env: str, kwargs: dict[str, Any]) -> None:
    own = collect(Stage(env, env_kwargs=kwargs), settings=FEW, state=brief)
    assert [each.state.partition(" ")[0] for each in own] == [str(number) for number in range(len(own))]
    for each in collect(Stage(env, env_kwargs=kwargs), settings=FEW, history="commands")[1:]:
        assert "\nCommands so far: " in each.state
        assert "\nObservation: " in each.state


def test_players_are_asked_as_the_function_says_also_when_they_are_loaded_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "said.py").write_text(
        'def state(task, path, observation, commands):\n    return f"{task} {len(path)}"\n'
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    import said  # type: ignore[import-not-found]

    players = Players.of(state=said.state)
    assert {each.state.rpartition(" ")[2] for each in players.collect(TAXI, settings=FEW)} >= {"0", "1"}
    players.reinforce(Stage(TAXI, 1), RLConfig(batch=2), say=lambda _: None)
    shown = players.play(TAXI, split="validation", episodes=1)[0].decisions
    assert [each.state.rpartition(" ")[2] for each in shown] == [str(number) for number in range(len(shown))]
    players.save("kept")
    assert json.loads(Path("kept/settings.json").read_text())["state"] == "said:state"
    assert Players.load("kept").play(TAXI, split="validation", episodes=1, greedy=True)[0].decisions[0].state[-1] == "0"
    monkeypatch.setattr(said, "state", lambda task, path, observation, commands: "other")
    with pytest.raises(UsageError, match="said:state is another function than kept was made with: restore it"):
        Players.load("kept")
    with pytest.raises(UsageError, match=r"put it into a module as a function, to save the players"):
        Players.of(state=lambda *_: "x").save("other")


def test_a_folder_of_demonstrations_is_of_one_function(tmp_path: Path) -> None:
    collect(TAXI, settings=FEW, state=brief, folder=tmp_path)
    collect(TAXI, settings=FEW, state=brief, folder=tmp_path)
    with pytest.raises(UsageError, match=r"made from other inputs \(history is another one\)"):
        collect(TAXI, settings=FEW, state=lambda *_: "x", folder=tmp_path)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"state": brief, "history": 2}, "history has no effect beside state"),
        ({"state": "brief"}, "state is 'brief': give a function of task, path, observation and commands"),
        ({"state": lambda *_: ""}, r"the function of p\(s\) returned '': return a text"),
        (
            {"state": lambda *_: 1 / 0},
            r"the function of p\(s\) failed \(ZeroDivisionError: division by zero\): mend it",
        ),
        ({"state": lambda *_: "word " * 9000, "reader": "tiny"}, "tokens, and the model has room for .*: say less"),
    ],
)
def test_a_function_that_composes_nothing_is_refused(options: dict[str, Any], words: str) -> None:
    if "reader" in options:
        options = {**options, "reader": Players.of().policy}
    with pytest.raises(UsageError, match=words):
        collect(TAXI, settings=FEW, **options)


def test_a_config_names_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config = Config(state=f"{__name__}:brief", curriculum=(Stage(TAXI, 1),))
    assert config.shown is brief
    claim(config, tmp_path / "run")
    monkeypatch.setattr(f"{__name__}.brief", lambda *_: "other")
    with pytest.raises(UsageError, match=r"made from other inputs \(state is another one\)"):
        claim(config, tmp_path / "run")
    with pytest.raises(UsageError, match=r"state is 'no:where': give module:function"):
        replace(config, state="no:where").shown  # noqa: B018
    with pytest.raises(UsageError, match="history has no effect beside state"):
        Config(state="a:b", history=3)
