"""DangerousTaxi: Gymnasium's Taxi in words, where one illegal move ends the game.

env         the environment; its docstring is its page
vector      the fast vector form, on arrays
city        grids, walls, landmarks, transition tables and distances
tasks       task ids and their splits
words       commands, answers and descriptions
causes      why a command ends a ride, and what was meant
render      a city as characters or pixels
protocols   writes the evaluation protocols
"""

from __future__ import annotations

from natlang_envs.dangerous_taxi.env import DangerousTaxiEnv
from natlang_envs.dangerous_taxi.vector import DangerousTaxiVectorEnv

__all__ = ["DangerousTaxiEnv", "DangerousTaxiVectorEnv"]
