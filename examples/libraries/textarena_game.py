"""An environment of the suite as a game of TextArena: python examples/libraries/textarena_game.py"""

from __future__ import annotations

import gymnasium
import textarena

from natlang_envs import unwrap
from natlang_envs.learners.tested_versions import warn_if_untested
from natlang_envs.prompt import listed, state_prompt

warn_if_untested("textarena")


class NatLangGame(textarena.Env):
    """A game of one player, made of any environment of the suite; `textarena.register` takes it.

    It plays training tasks unless told: games of TextArena are what models are trained on.
    """

    def __init__(self, env_id: str, split: str = "train") -> None:
        self.env = unwrap(gymnasium.make(env_id, split=split))

    def reset(self, num_players: int = 1, seed: int | None = None) -> None:
        observation, info = self.env.reset(seed=seed)
        # Without the seed: TextArena would seed Python's global generator with it.
        self.state = textarena.SinglePlayerState(num_players, max_turns=self.env.horizon)
        text = state_prompt(info["task"], [], observation)
        self.state.reset(game_state={}, player_prompt_function=lambda **_: text)
        self._list(info)

    def step(self, action: str) -> tuple[bool, dict]:
        self.state.add_observation(action, textarena.ObservationType.PLAYER_ACTION, from_id=0)
        observation, _, terminated, truncated, info = self.env.step(action)
        self.state.add_observation(observation, textarena.ObservationType.GAME_MESSAGE)
        self._list(info)
        if terminated or truncated:
            self.state.set_outcome(reward=float(info["success"]), reason=info["feedback"])
        return self.state.step()

    def _list(self, info: dict) -> None:
        self.state.add_observation(listed(info["admissible_commands"]), textarena.ObservationType.GAME_BOARD)


def main(env_id: str = "NatLang/DangerousTaxi-v0") -> float:
    """Return the reward of the environment's own plan, played as a game of TextArena."""
    game = NatLangGame(env_id)
    game.reset(num_players=1, seed=0)
    for command in game.env.reference():
        player, seen = game.get_observation()
        assert (player, bool(seen)) == (0, True)
        game.step(command)
    rewards, _ = game.close()
    return rewards[0]


if __name__ == "__main__":
    print(f"reward of the plan: {main():.0f}")
