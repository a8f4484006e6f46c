"""ALFWorld: household tasks in words, on an engine that needs no download.

env, tasks           the environment, and the games it draws from
engine/              the rules and texts of a game, equal to TextWorld's
games/               generated and realistic games, synthetic rooms, the official lists
difficulty           games of a chosen difficulty
textworld/           the real TextWorld as a backend, and export for it
causes, wording      why nothing happens, and what a command may mean
plans                reference plans, made with full knowledge
expert               an expert that sees only what an agent sees,
observation_memory   which remembers the texts, and
usual_locations      knows where objects usually are
compat               the alfworld package's `AlfredTWEnv`, for scripts written for it
exemplars            won games as examples for a prompt
subgoals             a wrapper that pays for subgoals
protocols            writes the evaluation protocols
"""

from __future__ import annotations

from natlang_envs.alfworld.engine.game import Game, parse_game
from natlang_envs.alfworld.engine.game_file import GameText, read_game_file
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.env import ALFWorldEnv
from natlang_envs.alfworld.exemplars import exemplar
from natlang_envs.alfworld.expert import Expert, ExpertAgent
from natlang_envs.alfworld.subgoals import SubgoalReward

__all__ = [
    "ALFWorldEnv",
    "Expert",
    "ExpertAgent",
    "Game",
    "GameText",
    "SubgoalReward",
    "World",
    "exemplar",
    "parse_game",
    "read_game_file",
]
