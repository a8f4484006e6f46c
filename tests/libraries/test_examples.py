"""The examples with the libraries that people use already, each run with the real library."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from random import Random
from types import ModuleType
from typing import NamedTuple

import gymnasium
import pytest

from natlang_envs import unwrap
from natlang_envs.prompt import chat_messages, state_prompt

pytestmark = pytest.mark.timeout(1800)  # examples that learn take minutes
ROOT = Path(__file__).parents[2]
GAMES, EPISODES = ("NatLang/DangerousTaxi-v0", "NatLang/ALFWorld-v0"), 10
EQUAL = f"equal to ours: {EPISODES * len(GAMES)} episodes of the taxi and of ALFWorld, 0 differences"


class Step(NamedTuple):
    command: str
    text: str
    listed: str
    reward: float
    terminated: bool
    truncated: bool
    success: bool


class Episode(NamedTuple):
    task_id: str
    first: str
    commands: tuple[str, ...]
    listed: str
    steps: list[Step]


def ours(env_id: str, seed: int) -> Episode:
    """Return an episode of Gymnasium's: the environment's plan, with a random command for one in eight."""
    env, draw = gymnasium.make(env_id, split="train"), Random(seed)
    observation, info = env.reset(seed=seed)
    first, commands = state_prompt(info["task"], [], observation), info["admissible_commands"]
    steps: list[Step] = []
    begin = (info["task_id"], first, commands, listed(commands), steps)
    while not steps or not (steps[-1].terminated or steps[-1].truncated):
        command = draw.choice(info["admissible_commands"]) if draw.random() < 0.125 else unwrap(env).reference()[0]
        text, reward, terminated, truncated, info = env.step(command)
        shown = (text, listed(info["admissible_commands"]), float(reward) / unwrap(env).reward_scale)
        steps.append(Step(command, *shown, terminated, truncated, info["success"]))
    return Episode(*begin)


def listed(commands: tuple[str, ...]) -> str:
    return "Actions: " + "; ".join(commands)


def example(name: str, package: str) -> ModuleType:
    try:
        version(package)  # not find_spec: the folder `datasets` of this repository would be taken for the library
    except PackageNotFoundError:
        pytest.skip(f"{package} is not installed: run `make libraries`")
    return import_module(f"examples.libraries.{name}")


def test_maskable_ppo_learns_the_pickup(worked) -> None:
    module = example("sb3_maskable_ppo", "sb3-contrib")
    won = module.main()
    assert won > 0.25  # a random player wins 4%
    worked("sb3-contrib", module, f"learns: {won:.0%} of training pickups after 100,000 steps; random 4%")


def test_tianshous_dqn_learns_the_pickup(worked) -> None:
    module = example("tianshou_dqn", "tianshou")
    reward = module.main(epochs=5)
    assert reward > -0.4  # -0.57 before
    told = f"mean reward {reward:.2f} on validation after 25,000 steps; -0.57 before, at most 0.9"
    worked("tianshou", module, f"learns: {told}")


def test_a_minari_data_set_is_read_back(worked, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("MINARI_DATASETS_PATH", str(tmp_path))
    module = example("minari_dataset", "minari")
    found = module.main(episodes=3)
    env = found.recover_environment().unwrapped
    assert found.observation_space == env.observation_space
    assert found.action_space == env.action_space
    assert found.action_space.commands == env.action_space.commands
    for seed, episode in enumerate(found.iterate_episodes()):
        first, _ = env.reset(seed=seed)
        assert episode.observations[0] == first
        assert [env.step(each)[0] for each in episode.actions] == list(episode.observations[1:])
        assert episode.terminations[-1]
    worked("minari", module, "equal to ours: 3 episodes, read back and played again, 0 differences")


def test_trl_is_shown_games_then_plays_and_tells_what_it_won() -> None:
    before, curve, after = example("trl_grpo", "trl").main(warm_up=3, steps=2)
    assert len(curve) == 2
    assert all(0 <= each <= 1 for each in (before, *curve, after))


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_trls_grpo_doubles_what_a_small_model_wins_of_the_pickup(worked) -> None:
    module = example("trl_grpo", "trl")
    before, curve, after = module.main()
    assert after >= 2 * before
    assert before > 0.1
    assert sum(curve[-5:]) > 1.5 * sum(curve[:5])
    told = f"{after:.0%} of held-out pickups after {len(curve)} steps of GRPO; {before:.0%} before, commands drawn"
    worked("trl", module, f"learns: {told}")


def test_trls_environment_plays_by_calls_of_a_tool() -> None:
    pytest.importorskip("trl", reason="TRL is not installed: run `make libraries`")
    from natlang_envs import unwrap
    from natlang_envs.learners.trl import environment
    from natlang_envs.make_env import make_env

    taxi = "NatLang/DangerousTaxi-Pickup-v0"
    env = unwrap(make_env(taxi))
    text, info = env.reset(seed=0)
    game = environment(taxi)()
    assert text in game.reset(task_id=info["task_id"])
    plan = env.reference()
    for command in plan:
        answer = game.act(command)
    assert "got into the taxi" in answer
    assert game.act(plan[0]) == "The game has ended."
    assert game.get_reward() == pytest.approx((20 - (len(plan) - 1)) / 20)


def test_textarena_plays_the_episodes_of_gymnasium(worked) -> None:
    module = example("textarena_game", "textarena")
    assert module.main() == 1
    for env_id in GAMES:
        game = module.NatLangGame(env_id)
        for seed in range(EPISODES):
            expected = ours(env_id, seed)
            game.reset(num_players=1, seed=seed)
            shown = [text for _, text, _ in game.get_observation()[1]]
            assert shown == [expected.first, expected.listed]
            for step in expected.steps:
                done, _ = game.step(step.command)
                assert done == (step.terminated or step.truncated)
                seen = [text for _, text, _ in game.get_observation()[1]]
                assert seen == [step.command, step.text, step.listed]
            assert game.close()[0][0] == expected.steps[-1].success
    worked("textarena", module, EQUAL)


def test_skyrl_gym_plays_the_episodes_of_gymnasium(worked) -> None:
    module = example("skyrl_text_env", "skyrl-gym")
    reward, won = module.main()
    assert won
    assert 0 < reward < 1
    for env_id in GAMES:
        for seed in range(EPISODES):
            expected = ours(env_id, seed)
            env = module.NatLangText(extras={"env_id": env_id, "task_id": expected.task_id})
            messages, _ = env.init([])
            assert messages == chat_messages(expected.first, expected.commands)
            for step in expected.steps:
                found = env.step(f"So be it.\n{step.command}")
                assert found["reward"] == step.reward
                assert found["done"] == (step.terminated or step.truncated)
                assert found["metadata"]["success"] == step.success
                said = [] if found["done"] else [{"role": "user", "content": f"{step.text}\n\n{step.listed}"}]
                assert found["observations"] == said
    worked("skyrl-gym", module, EQUAL)


def test_gem_plays_the_episodes_of_gymnasium_and_the_plan_in_spawned_copies(worked) -> None:
    module = example("gem_env", "gem-llm")
    reward, won = module.main()
    assert won
    assert 0 < reward < 1
    env = module.NatLangGem("NatLang/DangerousTaxi-v0", seed=4)
    first, info = env.reset()
    assert env.reset(seed=4)[0] == first
    assert env.sample_random_action() in info["admissible_commands"]
    for env_id in GAMES:
        env = module.NatLangGem(env_id)
        for seed in range(EPISODES):
            expected = ours(env_id, seed)
            assert env.reset(seed=seed)[0] == f"{expected.first}\n{expected.listed}"
            for step in expected.steps:
                text, earned, terminated, truncated, info = env.step(step.command)
                assert text == f"{step.text}\n{step.listed}"
                assert (earned, terminated, truncated) == (step.reward, step.terminated, step.truncated)
                assert info["success"] == step.success
    worked("gem-llm", module, EQUAL)


def test_hugging_faces_data_set_holds_every_step(worked, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    module = example("hf_datasets", "datasets")
    found = module.main(episodes=3)
    expected = list(module.rows(module.HOUSE, 3))
    assert found.to_list() == expected
    worked("datasets", module, "equal to ours: the steps of 3 episodes, 0 differences")


def test_rllib_trains_both_players(worked) -> None:
    if version("gymnasium") != "1.2.2":
        pytest.skip("RLlib needs Gymnasium 1.2.2: run `make libraries`")
    module = example("rllib_two_players", "ray")
    assert all(-2 < each < 1 for each in module.main(iterations=2))
    worked("ray", module, "plays")
