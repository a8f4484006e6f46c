"""The examples with the libraries that people use already, each run with the real library."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


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
    worked("sb3-contrib", module, f"{won:.0%} of training pickups after 100,000 steps; random 4%")


def test_tianshous_dqn_learns_the_pickup(worked) -> None:
    module = example("tianshou_dqn", "tianshou")
    reward = module.main(epochs=5)
    assert reward > -0.4  # -0.57 before
    worked("tianshou", module, f"mean reward {reward:.2f} on validation after 25,000 steps; -0.57 before, at most 0.9")


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
    worked("minari", module, "wiring only")


def test_trls_grpo_gets_a_gradient(worked) -> None:
    module = example("trl_grpo", "trl")
    # The tiny model of this project, which has learned nothing.
    model = next((ROOT / "reference_agent/data/models").glob("tiny-*"))
    norms = module.main(str(model), steps=3)
    assert len(norms) == 3
    assert max(norms) > 0
    worked("trl", module, "wiring only")


def test_trls_environment_plays_by_calls_of_a_tool() -> None:
    pytest.importorskip("trl", reason="TRL is not installed: run `make libraries`")
    from natlang_envs import unwrap
    from natlang_envs.learners.trl import environment
    from natlang_envs.making import make_env

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


def test_textarena_plays_the_environments_own_plan(worked) -> None:
    module = example("textarena_game", "textarena")
    assert module.main() == 1
    worked("textarena", module, "wiring only")


def test_skyrl_gym_plays_the_environments_own_plan(worked) -> None:
    module = example("skyrl_text_env", "skyrl-gym")
    reward, won = module.main()
    assert won
    assert 0 < reward < 1
    worked("skyrl-gym", module, "wiring only")


def test_gem_plays_the_environments_own_plan_in_spawned_copies(worked) -> None:
    module = example("gem_env", "gem-llm")
    reward, won = module.main()
    assert won
    assert 0 < reward < 1
    env = module.NatLangGem("NatLang/DangerousTaxi-v0", seed=4)
    first, info = env.reset()
    assert env.reset(seed=4)[0] == first
    assert env.sample_random_action() in info["admissible_commands"]
    worked("gem-llm", module, "wiring only")


def test_hugging_faces_data_set_holds_every_step(worked, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    module = example("hf_datasets", "datasets")
    found = module.main(episodes=3)
    expected = list(module.rows(module.HOUSE, 3))
    assert found.to_list() == expected
    worked("datasets", module, "wiring only")


def test_rllib_trains_both_players(worked) -> None:
    if version("gymnasium") != "1.2.2":
        pytest.skip("RLlib needs Gymnasium 1.2.2: run `make libraries`")
    module = example("rllib_two_players", "ray")
    assert all(-2 < each < 1 for each in module.main(iterations=2))
    worked("ray", module, "wiring only")
