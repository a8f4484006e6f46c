"""Players that are kept together: what they are asked with is said once, and holds wherever they play."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import pytest

import reference_agent as rrl
from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import evaluate, load_protocol
from natlang_envs.evaluation.agents import AgentInput, load_agent
from natlang_envs.prompt import state_prompt
from reference_agent import Players
from reference_agent.run.published import publish

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
PROTOCOL = "dangerous-taxi-pickup/v1"
FEW = rrl.CollectConfig(trajectories=2, policy_trajectories=2)
pytestmark = pytest.mark.xdist_group("kept players")  # one process trains them


@pytest.fixture(scope="module")
def players() -> Players:
    found = Players.of(history=2, reflection_tokens=24)
    found.fine_tune(found.collect(PICKUP, "oracle", FEW), rrl.SFTConfig(2), rrl.PolicySFTConfig(2))
    return found


@pytest.fixture(scope="module")
def kept(players: Players, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kept") / "mine"
    players.save(folder)
    return folder


def start(task: int = 0) -> AgentInput:
    protocol = load_protocol(PROTOCOL)
    env = protocol.make_env()
    observation, info = env.reset(options={"task_id": protocol.episodes[task].task_id})
    return AgentInput(info["task"], (), observation, info["admissible_commands"], unwrap(env).np_random)


def test_what_was_said_once_holds_in_every_step(players: Players) -> None:
    deep = players.collect(PICKUP, "oracle", rrl.CollectConfig(trajectories=3, policy_trajectories=3))
    paths = [re.findall(r"^- ", each.state, re.MULTILINE) for each in deep]
    assert max(map(len, paths)) == 2, "the history of the players"
    rows = players.reinforce(rrl.Stage(PICKUP, 1), rrl.RLConfig(batch=2))
    assert rows[0]["reflections"] > 0
    (episode,) = players.play(PICKUP, split="validation", episodes=1, greedy=True)
    assert all(len(each.reflection or "") < 24 * 12 for each in episode.decisions)


def test_kept_players_play_as_they_did(players: Players, kept: Path, tmp_path: Path) -> None:
    again = Players.load(kept)
    assert again.config == players.config
    views = [start(task) for task in range(4)]
    assert [again.act(each) for each in views] == [players.act(each) for each in views]
    _, ours = evaluate(players.agent(), PROTOCOL, episodes=6)
    _, theirs = evaluate(load_agent(f"players:{kept}"), PROTOCOL, episodes=6)
    assert ours == theirs
    assert players.evaluate(PROTOCOL, episodes=6, out=tmp_path / "run").agent == "players"
    assert again.evaluate(PROTOCOL, episodes=6, out=tmp_path / "run", resume=True).agent == "players"
    next(iter(again.policy.parameters())).data += 0.01
    with pytest.raises(UsageError, match="already holds a run of other weights"):
        again.evaluate(PROTOCOL, episodes=6, out=tmp_path / "run", resume=True)


def test_kept_players_are_published_as_a_run_is(kept: Path, tmp_path: Path) -> None:
    player = publish(kept, "policy", tmp_path / "mine.json")
    assert load_agent(f"players:{player}").act([start()])[0].action in start().admissible_commands  # type: ignore[union-attr]


def test_a_folder_is_whole_or_not_there(players: Players, kept: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is there already"):
        players.save(kept)
    (tmp_path / "half").mkdir()
    with pytest.raises(UsageError, match="holds no run"):
        Players.load(tmp_path / "half")


@pytest.mark.parametrize(
    ("head", "rank"),
    [
        ("saycan", 2),
        *(pytest.param(*each, marks=pytest.mark.slow) for each in (("labels", 0), ("saycan", 0), ("labels", 2))),
    ],
)
def test_the_page_beside_them_plays_them_with_plain_transformers(head: Any, rank: int, tmp_path: Path) -> None:
    pair = Players.of("tiny", rrl.ModelConfig(lora_rank=rank), head=head, reflection_tokens=12)
    pair.fine_tune(pair.collect(PICKUP, "oracle", FEW), rrl.SFTConfig(2), rrl.PolicySFTConfig(2))
    pair.to_transformers(tmp_path / "plain")
    (code,) = re.findall(r"```python\n(.+?)```", (tmp_path / "plain" / "README.md").read_text("utf-8"), re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)
    policy, reflector = (names["Asked"](tmp_path / "plain" / name) for name in ("policy", "reflector"))
    again = Players.load(tmp_path / "plain")
    for task in range(3):
        view = start(task)
        state = state_prompt(view.task, (), view.observation)
        said = reflector.reflect(state, 12)
        chosen = {"labels": policy.choose, "saycan": policy.choose_text}[head](state, said, view.admissible_commands)
        for decision in (pair.act(view), again.act(view)):
            assert (decision.action, decision.reflection) == (chosen, said)
    with pytest.raises(UsageError, match="is there already"):
        pair.to_transformers(tmp_path / "plain")


@pytest.mark.parametrize("head", ["labels", pytest.param("saycan", marks=pytest.mark.slow)])
def test_adapters_are_kept_with_the_base_that_they_belong_to(tmp_path: Path, head: Any) -> None:
    pair = Players.of("tiny", rrl.ModelConfig(lora_rank=2), head=head, reflection_tokens=8)
    pair.fine_tune(pair.collect(PICKUP, "oracle", FEW), rrl.SFTConfig(1), rrl.PolicySFTConfig(1))
    pair.save(tmp_path / "mine")
    again = Players.load(tmp_path / "mine")
    assert again.act(start()) == pair.act(start())
    assert sum(each.numel() for each in again.policy.parameters()) < 100_000


def test_a_policy_alone_has_no_reflector(tmp_path: Path) -> None:
    alone = Players.of(reflect=False)
    learned = alone.fine_tune(alone.collect(PICKUP, "oracle", FEW), policy=rrl.PolicySFTConfig(1))
    assert learned is not None
    assert learned.without is None
    alone.save(tmp_path / "alone")
    assert Players.load(tmp_path / "alone").act(start()).reflection is None


def test_what_the_policy_has_learned_is_said_in_a_line() -> None:
    assert str(rrl.Learned(0.9, 0.25, 0.4)) == (
        "the policy chooses as the teacher 90% of the time, chance 25%, without the reflection 40%"
    )
    assert str(rrl.Learned(0.3, 0.25, 0.3)).endswith("30%: it has not learned to read the reflection")


def test_settings_for_a_model_that_is_there_already_are_refused() -> None:
    with pytest.raises(UsageError, match="settings are for a model that is loaded here"):
        Players.of(rrl.load_model(), rrl.ModelConfig(lora_rank=2))


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ({"reflect": False, "reflection_tokens": 24}, "reflection_tokens"),
        ({"reflect": False, "reflections": "sampled"}, "reflections"),
        ({"seed": 1}, "seed"),
        ({"settings": rrl.ModelConfig(lora_alpha=8)}, "lora_alpha"),
    ],
)
def test_what_would_have_no_effect_is_refused(given: dict[str, Any], name: str) -> None:
    with pytest.raises(UsageError, match=f"{name} has no effect"):
        Players.of(**given)


def test_settings_of_a_reflector_that_is_not_there_are_refused() -> None:
    with pytest.raises(UsageError, match="reflector has no effect without a reflector"):
        Players.of(reflect=False).fine_tune([], rrl.SFTConfig(steps=2))


def test_players_whose_training_has_not_ended_are_named(kept: Path, tmp_path: Path) -> None:
    shutil.copytree(kept, tmp_path / "cut")
    shutil.rmtree(tmp_path / "cut" / "policy")
    with pytest.raises(UsageError, match="finish training"):
        Players.load(tmp_path / "cut")
