"""RLlib's PPO trains both players of the pickup, the reflector among six sentences, wiring only:

python examples/libraries/rllib_two_players.py
"""

from __future__ import annotations

from typing import Any

import numpy as np
from gymnasium import spaces
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.env.multi_agent_env import MultiAgentEnv

from natlang_envs.learners.encoders import TextEncoder
from natlang_envs.learners.tested_versions import warn_if_untested
from natlang_envs.two_player import POLICY, REFLECTOR, aec_env

warn_if_untested("ray")

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
SENTENCES = tuple(f"I should {what}." for what in ("go south", "go north", "go east", "go west", "pick up", "wait"))


class Players(MultiAgentEnv):
    """The two players in turn; texts as vectors, sentences and commands as numbers."""

    def __init__(self, config: dict[str, Any] | None = None) -> None:
        super().__init__()
        self.game, self.encode = aec_env(PICKUP, split="train"), TextEncoder(512)
        self.agents = self.possible_agents = [REFLECTOR, POLICY]
        box = spaces.Box(0.0, 3.0, (512,), np.float32)
        self.observation_spaces = dict.fromkeys(self.agents, box)
        self.action_spaces = dict.fromkeys(self.agents, spaces.Discrete(6))

    def reset(self, *, seed: int | None = None, options: dict | None = None) -> tuple[dict, dict]:
        self.game.reset(seed=seed)
        return self._seen(REFLECTOR), {}

    def step(self, actions: dict[str, int]) -> tuple[dict, dict, dict, dict, dict]:
        ((player, action),) = actions.items()
        self.game.step(SENTENCES[action] if player == REFLECTOR else int(action))
        ended, cut = any(self.game.terminations.values()), any(self.game.truncations.values())
        rewards = {each: self.game.rewards[each] / 20 for each in self.agents} if player == POLICY else {}
        seen = self._seen(*self.agents) if ended or cut else self._seen(self.game.agent_selection)
        return seen, rewards, {"__all__": ended}, {"__all__": cut}, {}

    def _seen(self, *players: str) -> dict:
        return {each: self.encode(self.game.observe(each)["text"]) for each in players}


def main(iterations: int = 2) -> list[float]:
    """Return the mean return of an episode in each iteration."""
    config = PPOConfig().environment(Players).env_runners(num_env_runners=0)
    config.multi_agent(policies={REFLECTOR, POLICY}, policy_mapping_fn=lambda player, *_, **__: player)
    config.training(train_batch_size=512, minibatch_size=128, num_epochs=2)
    trainer = config.build_algo()
    return [float(trainer.train()["env_runners"]["episode_return_mean"]) for _ in range(iterations)]


if __name__ == "__main__":
    print(f"mean return by iteration: {main()}")
