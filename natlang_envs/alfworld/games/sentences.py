"""What a generated game asks for, in the words of the official ones."""

from __future__ import annotations

from natlang_envs.alfworld.engine.goals import CLEAN, COOL, HEAT, LOOK, PLACE, TWO
from natlang_envs.alfworld.engine.grammar import TASK_PREFIX
from natlang_envs.alfworld.games.floor_plans import Aim

# Facts of the official games: each task type has two sentences, and each is in half of its games.
SENTENCES: dict[str, tuple[str, str]] = {
    PLACE: ("put a {thing} in {target}.", "put some {thing} on {target}."),
    LOOK: ("look at {thing} under the {target}.", "examine the {thing} with the {target}."),
    CLEAN: ("put a clean {thing} in {target}.", "clean some {thing} and put it in {target}."),
    HEAT: ("put a hot {thing} in {target}.", "heat some {thing} and put it in {target}."),
    COOL: ("put a cool {thing} in {target}.", "cool some {thing} and put it in {target}."),
    TWO: ("put two {thing} in {target}.", "find two {thing} and put them in {target}."),
}


def sentence(aim: Aim, variant: int) -> str:
    """Return the whole sentence, such as "Your task is to: put a hot apple in fridge."; `variant` is 0 or 1."""
    words = SENTENCES[aim.task_type][variant]
    return TASK_PREFIX + words.format(thing=aim.object_type.lower(), target=aim.target_type.lower())
