"""An environment of the suite as one of GEM: python examples/libraries/gem_env.py"""

from __future__ import annotations

from typing import Any

import gem
import gymnasium

from natlang_envs import unwrap
from natlang_envs.learners.tested_versions import warn_if_untested
from natlang_envs.prompt import listed, state_prompt

warn_if_untested("gem-llm")


class NatLangGem(gem.Env):
    """Any environment of the suite; its split is "train" unless told."""

    def __init__(self, gym_id: str, split: str = "train", seed: int | None = None, **arguments: Any) -> None:
        self._made = {"gym_id": gym_id, "split": split, **arguments}
        self._seed = seed  # of the first reset, as `gem.make_vec` hands it out
        self.env = unwrap(gymnasium.make(gym_id, split=split, **arguments))

    def reset(self, seed: int | None = None) -> tuple[str, dict[str, Any]]:
        # Without `super().reset`, which would seed Python's and NumPy's global generators.
        observation, info = self.env.reset(seed=self._seed if seed is None else seed)
        self._seed = None
        return f"{state_prompt(info['task'], [], observation)}\n{listed(info['admissible_commands'])}", info

    def step(self, action: str) -> tuple[str, float, bool, bool, dict[str, Any]]:
        observation, reward, terminated, truncated, info = self.env.step((action.strip().splitlines() or [""])[-1])
        scaled = float(reward) / self.env.reward_scale
        return f"{observation}\n{listed(info['admissible_commands'])}", scaled, terminated, truncated, info

    def sample_random_action(self) -> str:
        return self.env.action_space.sample()

    def spawn(self, same_state: bool = False, **arguments: Any) -> NatLangGem:
        other = NatLangGem(**{**self._made, **arguments})
        if same_state:
            other.env.restore(self.env.snapshot())
        return other


def main(env_id: str = "NatLang/DangerousTaxi-v0") -> tuple[float, bool]:
    """Return what the environment's own plan earns through GEM, and whether it wins, each step in a spawned copy."""
    name = f"natlang:{env_id}"
    if name not in gem.envs.registration.ENV_REGISTRY:
        gem.register(name, NatLangGem, gym_id=env_id)
    env = gem.make(name)
    env.reset(seed=0)
    total, info = 0.0, {}
    for command in env.env.reference():
        env = env.spawn(same_state=True)
        _, reward, _, _, info = env.step(command)
        total += reward
    return total, info["success"]


if __name__ == "__main__":
    print("reward of the plan: {:.2f}, success: {}".format(*main()))
