"""ALFWorld's rules and texts, step by step as TextWorld plays them.

game_file            reads a `game.tw-pddl` and recognises its release
pddl_facts, goals    the facts and the goal of its PDDL problem
grammar              fixed texts, and what differs between releases
game                 the parsed game, shared by all its episodes
world                one episode of a game
available_actions    the commands that can be given now, cached
actions              the effect and the answer of each command
compiled             whether this engine is compiled, of the same sources
"""

from __future__ import annotations

from natlang_envs.alfworld.engine.compiled import check_compiled, is_compiled
from natlang_envs.alfworld.engine.game import Game, parse_game
from natlang_envs.alfworld.engine.game_file import GameText, read_game_file
from natlang_envs.alfworld.engine.world import World

check_compiled()

__all__ = ["Game", "GameText", "World", "is_compiled", "parse_game", "read_game_file"]
