"""The judge that plays AutoExplore-Change: it learns, resumes, plays as in training, refuses the rest."""

from __future__ import annotations

import gzip
import hashlib
import json
from collections import defaultdict
from collections.abc import Callable
from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import load, save
from torch import Tensor
from typer.testing import CliRunner

from leaderboard.audit import audit
from leaderboard.pack import pack
from natlang_envs.change.listed_edits.env import AutoExploreChangeEnv
from natlang_envs.change.listed_edits.tasks import make_tasks
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import AgentInput, evaluate, load_agent
from natlang_envs.evaluation.protocols import Episode, Protocol
from natlang_envs.evaluation.runs import provenance
from natlang_envs.prompt import PathStep
from natlang_envs.repository.texts import FILE_BUDGET
from natlang_judges.learning import TrainedJudge
from natlang_judges.mender.agent import MenderAgent
from natlang_judges.mender.code import KnownCode
from natlang_judges.mender.training import Bugs, MenderSettings, lessons, train_menders, wins
from reference_agent.run.command import app
from tests.support.kiosk import KIOSK, TASKS, kiosk

SHORT = MenderSettings(bugs=12, rounds=1, epochs=2, passes=2, updates=3, samples=2)
pytestmark = pytest.mark.xdist_group("menders")  # one process trains them


def silent(*_: object) -> None:
    """Report nothing."""


@pytest.fixture(scope="module")
def bugs(tmp_path_factory: pytest.TempPathFactory) -> Bugs:
    return Bugs(dataset=str(TASKS), repository=str(kiosk(tmp_path_factory.mktemp("bugs"))))


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory, bugs: Bugs) -> list[TrainedJudge]:
    return train_menders(tmp_path_factory.mktemp("menders"), 1, SHORT, silent, bugs, bugs)


def weights_of(results: list[TrainedJudge]) -> list[bytes]:
    return [each.weights.read_bytes() for each in results]


@pytest.mark.slow
def test_training_repeats_by_its_seed_and_goes_on_where_it_was_stopped(
    trained: list[TrainedJudge], bugs: Bugs, tmp_path: Path
) -> None:
    (tmp_path / "seed0").mkdir()  # stopped after the imitation
    (tmp_path / "seed0" / trained[0].weights.name).write_bytes(trained[0].weights.read_bytes())
    assert weights_of(train_menders(tmp_path, 1, SHORT, silent, bugs, bugs)) == weights_of(trained)
    assert weights_of(train_menders(tmp_path / "again", 1, SHORT, silent, bugs, bugs)) == weights_of(trained)
    assert len({*weights_of(trained)}) == len(trained)
    fewer = copy(bugs)
    fewer.about = {**bugs.about, "tasks": 1}
    for settings, train in ((replace(SHORT, updates=6), bugs), (SHORT, fewer)):
        with pytest.raises(UsageError, match="holds what was made from other inputs"):
            train_menders(tmp_path, 1, settings, silent, train, bugs)


def played(agent: MenderAgent, env: AutoExploreChangeEnv, task_id: str) -> tuple[list[str], bool]:
    """Return the commands and the success of a game that is played as an evaluation plays it."""
    observation, info = env.reset(options={"task_id": task_id})
    path: list[PathStep] = []
    ended, rng = False, np.random.default_rng(0)
    while not ended:
        listed = info["admissible_commands"]
        view = AgentInput(info["task"], tuple(path), observation, listed, rng)
        chances = agent.chances(view, None)
        assert sum(chances) == pytest.approx(1, abs=1e-4)
        command = agent(view)
        assert command in listed
        assert chances[listed.index(command)] > 0
        observation, _, ended, _, info = env.step(command)
        path.append(PathStep(command, info["feedback"]))
    return [step.action for step in path], info["success"]


def test_the_agent_plays_the_games_that_training_counted(trained: list[TrainedJudge], bugs: Bugs) -> None:
    agent = MenderAgent(trained[-1].weights)
    counted = wins(agent.network, bugs)
    for start, env in bugs.envs.items():
        assert [played(agent, env, name)[1] for name in bugs.names] == counted[start]
        assert trained[-1].won[f"from the {start}"] == sum(counted[start]) / len(bugs.names)


def test_drawn_games_repeat_by_the_numbers_of_an_episode(trained: list[TrainedJudge], bugs: Bugs) -> None:
    env = bugs.envs["repository"]
    first, again = (
        [played(MenderAgent(trained[0].weights, sampling=True), env, name)[0] for name in bugs.names] for _ in range(2)
    )
    assert first == again


@pytest.mark.parametrize("start", ["", "Line"])
def test_bugs_that_are_reported_in_the_same_words_are_kept_apart(trained: list[TrainedJudge], start: str) -> None:
    tasks = make_tasks("validation", "embedded", None)
    alike: dict[str, list[str]] = defaultdict(list)
    for task_id in tasks.ids():
        alike[tasks.load(task_id, FILE_BUDGET).question].append(task_id)
    episodes = [Episode(each, seed) for same in alike.values() if len(same) > 1 for seed, each in enumerate(same)]
    assert len(episodes) > 10
    env_id, kwargs = f"NatLang/AutoExplore-Change{start}-v0", {"split": "validation"}
    protocol = Protocol("a/b", env_id, kwargs, 30, 1, tuple(episodes), "")
    together, alone = (
        evaluate(MenderAgent(trained[0].weights), protocol, batch=batch)[1] for batch in (len(episodes), 1)
    )
    assert [each.actions for each in together] == [each.actions for each in alone]


def test_what_was_read_up_to_a_page_foretells_the_edits_that_the_environment_lists(bugs: Bugs) -> None:
    env: Any = bugs.envs["repository"]
    for path, text in env.change_task.repository.texts.items() if env.reset(options={"task_id": bugs.names[0]}) else ():
        lines = dict(enumerate(text.removesuffix("\n").split("\n"), 1))
        source = env.change_task.repository.source(path)
        listed = {line: [source.edited(each).preview for each in numbers] for line, numbers in source.of_line.items()}
        assert KnownCode(lines).edited() == listed
        cut = {number: line for number, line in lines.items() if number < len(lines)}
        assert set(KnownCode(cut).edited()) <= set(listed)


def test_lessons_begin_with_the_line_as_it_is() -> None:
    text = str(KIOSK["kiosk/prices.py"])
    found = list(lessons(text, 5, np.random.default_rng(0)))
    assert len(found) == 5
    assert all(len(lesson[0].ids) > 0 for lesson in found)


@pytest.fixture
def published(trained: list[TrainedJudge], tmp_path: Path) -> Path:
    """A player as `reflect-rl publish` makes it."""
    player = tmp_path / "mender.json"
    told = CliRunner().invoke(app, ["publish", str(trained[-1].weights), str(player)])
    assert f"--agent mender:{player}" in told.output.replace("\n", "")
    return player


@pytest.mark.slow
def test_a_published_mender_plays_as_its_weights_and_passes_an_audit_without_environments(
    trained: list[TrainedJudge], published: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kwargs = {"split": "validation"}
    ids = sorted(make_tasks("validation", None, None).ids())[:90]
    bugs = tuple(Episode(each, seed) for seed, each in enumerate(ids))
    protocol = Protocol("autoexplore-change-line/v1", "NatLang/AutoExplore-ChangeLine-v0", kwargs, 30, 1, bugs, "Some.")
    folder = tmp_path / "protocols"
    (folder / "autoexplore-change-line").mkdir(parents=True)
    (folder / f"{protocol.name}.json").write_text(protocol.to_json())
    monkeypatch.setattr("natlang_envs.evaluation.protocols._folder", lambda: folder)
    monkeypatch.setattr("leaderboard.audit.auditing.EPISODES", 20)
    weights, agent = f"mender:{trained[-1].weights}", f"mender:{published}"
    source = provenance("entry point", agent)
    played = evaluate(load_agent(agent), protocol, out=tmp_path / "run", batch=1, source=source)[1]
    same = evaluate(load_agent(weights), protocol.first(10), batch=1)[1]
    assert [each.actions for each in same] == [each.actions for each in played][:10]
    entry = pack(tmp_path / "run", name="mender", out=tmp_path / "submissions", deterministic=True)
    found = audit(entry, agent, "beacon")
    assert (found.same, found.impossible, found.problem) == (found.steps, 0, "")
    with pytest.raises(UsageError, match="the entry played the checkpoint SHA-256"):
        audit(entry, weights, "beacon")


def forged(player: Path, change: Callable[[dict[str, Tensor]], object]) -> None:
    """Put other weights into a player, with the SHA-256 that fits."""
    told = json.loads(player.read_text())
    (name, digest), *_ = told["files"].items()
    weights = load(gzip.decompress((player.parent / "files" / f"{digest}.gz").read_bytes()))
    change(weights)
    packed = gzip.compress(save(weights))
    told["files"][name] = digest = hashlib.sha256(packed).hexdigest()
    (player.parent / "files" / f"{digest}.gz").write_bytes(packed)
    player.write_text(json.dumps(told))


FORGED: dict[str, Callable[[dict[str, Tensor]], object]] = {
    "has weights that are not finite: train again": lambda of: of["plain.bias"].fill_(float("nan")),
    "holds no mender: name a": lambda of: of.pop("plain.bias"),
    "holds no mender: name a .safetensors": lambda of: of.update({"plain.bias": torch.zeros(7)}),
}


@pytest.mark.parametrize("said", FORGED)
def test_a_forged_mender_is_refused_in_a_line(published: Path, said: str) -> None:
    forged(published, FORGED[said])
    with pytest.raises(UsageError, match=said) as told:
        load_agent(f"mender:{published}")
    assert "\n" not in str(told.value)


def test_a_mender_is_no_other_player(trained: list[TrainedJudge], published: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="plays by 'mender' and not by a searcher: name it by mender:"):
        load_agent(f"searcher:{published}")
    published.write_text(published.read_text().replace('"policy": "mender"', '"policy": "policy"'))
    with pytest.raises(UsageError, match="plays by 'policy' and not by a mender: name it by reflect-rl:"):
        load_agent(f"mender:{published}")
    with pytest.raises(UsageError, match="holds no searcher: name a"):
        load_agent(f"searcher:{trained[0].weights}")
    (tmp_path / "other.safetensors").write_bytes(b"nothing")
    told = CliRunner().invoke(app, ["publish", str(tmp_path / "other.safetensors"), str(tmp_path / "other.json")])
    assert "holds no player: name a .safetensors file of `reflect-rl remember`" in str(told.exception)
    assert not (tmp_path / "other.json").exists()


def test_what_is_told_of_draws_holds_after_the_draw_and_along_another_recording(
    trained: list[TrainedJudge], bugs: Bugs
) -> None:
    agent, env = MenderAgent(trained[-1].weights, sampling=True), bugs.envs["line"]
    observation, info = env.reset(options={"task_id": bugs.names[0]})
    rng, path, told = np.random.default_rng(0), list[PathStep](), dict[str, float]()
    for others in range(6):
        listed = info["admissible_commands"]
        view = AgentInput(info["task"], tuple(path), observation, listed, rng)
        command = agent(view)
        told = dict(zip(listed, agent.chances(view, None), strict=True))
        assert sum(told.values()) == pytest.approx(1, abs=1e-4)
        assert told[command] > 0
        assert agent(view) == command
        another = [each for each in listed if each not in (command, "exit", "submit")]
        played = another[others % len(another)]
        observation, _, ended, _, info = env.step(played)
        path.append(PathStep(played, info["feedback"]))
        assert not ended


def test_bad_input_is_refused_in_a_line(trained: list[TrainedJudge], tmp_path: Path) -> None:
    for name in ("mender", "mender-sample"):
        with pytest.raises(UsageError, match=f"agent {name} needs weights: write --agent {name}:FILE"):
            load_agent(f"{name}:")
    (tmp_path / "other.safetensors").write_bytes(b"nothing")
    for path in (tmp_path / "missing", tmp_path / "other.safetensors", tmp_path):
        with pytest.raises(UsageError, match=r"holds no mender: name a \.safetensors file of `reflect-rl mend`"):
            load_agent(f"mender:{path}")
    view = AgentInput("Find it: x", (), "# Task\nFind it: x", ("exit",), np.random.default_rng(0))
    with pytest.raises(UsageError, match="agent 'mender' mends code"):
        MenderAgent(trained[0].weights)(view)


def test_menders_learn_from_the_split_train() -> None:
    assert Bugs(1).about == {"split": "train", "tasks": 1}
    with pytest.raises(UsageError, match="split='test' may hold test tasks"):
        Bugs(1, split="test")
