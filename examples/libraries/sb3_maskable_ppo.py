"""Stable-Baselines3's MaskablePPO learns the pickup: python examples/libraries/sb3_maskable_ppo.py"""

from __future__ import annotations

import gymnasium
from sb3_contrib import MaskablePPO
from stable_baselines3.common.env_util import make_vec_env

import natlang_envs  # noqa: F401 - registers the environments
from natlang_envs.learners.encoders import EncodedObservations
from natlang_envs.learners.tested_versions import warn_if_untested
from natlang_envs.learners.wrappers import ChoiceIndexActions, ScaleReward

warn_if_untested("sb3-contrib")

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"


def make() -> gymnasium.Env:
    return EncodedObservations(ChoiceIndexActions(ScaleReward(gymnasium.make(PICKUP, split="train"))), 1024)


def main(steps: int = 100_000, seed: int = 0) -> float:
    """Return the success rate over 200 episodes of the tasks that it was trained on, those of the train split."""
    model = MaskablePPO("MlpPolicy", make_vec_env(make, 16), n_steps=64, batch_size=256, learning_rate=3e-3, seed=seed)
    model.learn(steps)
    env, won = make(), 0
    for episode in range(200):
        observation, info = env.reset(seed=episode)
        ended = False
        while not ended:
            action, _ = model.predict(observation, action_masks=info["action_mask"], deterministic=True)
            observation, _, terminated, truncated, info = env.step(int(action))
            ended = terminated or truncated
        won += info["success"]
    return won / 200


if __name__ == "__main__":
    print(f"training tasks won at the end: {main():.0%}")
