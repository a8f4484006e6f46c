"""What `info["why"]` of ALFWorld is worth: on the official unseen games, in both of their grammars.

`python benchmarks/alfworld_why.py` prints a table and writes it to benchmarks/results/alfworld_why.md. $ALFWORLD_DATA
has to name the official games. The exit code is 1 where a floor does not hold.
"""

from __future__ import annotations

import random
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import gymnasium
from harness import Row, at_most, markdown, publish_and_exit

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `tools`, which is not installed

from natlang_envs.alfworld.engine.game import parse_game
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.games.official import data_folder, official_ids, official_text
from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError
from tools.alfworld.failing_commands import KINDS, failing_commands, measure

GRAMMARS = ("json_2.1.1", "json_2.1.2")
NO_VERB = "no command"
SEED, STEPS = 49, 25


def worlds() -> Iterator[World]:
    folder = data_folder()
    for task_id in official_ids(folder, "valid_unseen"):
        for grammar in GRAMMARS:
            yield World(parse_game(official_text(folder, task_id)._replace(grammar=grammar)))


def differences() -> tuple[int, int]:
    """Play the games with reasons and without, mistakes among the commands; return steps and how many differ."""
    steps = differ = 0
    for grammar in GRAMMARS:
        made = [
            unwrap(
                gymnasium.make("NatLang/ALFWorld-v0", source="official", split="test", grammar=grammar, explain=explain)
            )
            for explain in (False, True)
        ]
        chance = random.Random(SEED)
        for task_id in made[0].tasks.ids():
            seen = [env.reset(options={"task_id": task_id}) for env in made]
            while True:
                listed = seen[0][-1]["admissible_commands"]
                world = made[0].world  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownVariableType]
                mistakes = [command for _, command in failing_commands(world, chance)]
                command = chance.choice(mistakes) if mistakes and chance.random() < 0.4 else chance.choice(listed)
                plain, explained = (env.step(command) for env in made)
                explained[-1].pop("why")
                steps, differ = steps + 1, differ + (plain != explained)
                seen = [plain]
                if plain[2] or plain[3]:
                    break
    return steps, differ


def floor(what: str, value: float, floor: float, shown: str) -> Row:
    return Row(what, shown, "", "", "", f">= {floor:g}", value >= floor)


def none_of(what: str, wrong: int, tried: int, least: int) -> Row:
    return Row(what, f"{wrong:,} of {tried:,}", "", "", "", f"0 of {least:,} or more", not wrong and tried >= least)


def main() -> None:
    try:
        found = measure(worlds(), SEED, STEPS)
        steps, differ = differences()
    except UsageError as error:
        print(f"benchmarks/alfworld_why.py: {error}", file=sys.stderr)
        sys.exit(2)
    for line in found.wrong[:20]:
        print(line, file=sys.stderr)
    named, of_all = found.share_named(NO_VERB), found.share_named()
    wrong = len(found.wrong)
    rows = [
        floor("failed commands with another cause than no such verb", named, 0.95, f"{named:.1%}"),
        Row("the same, with texts of verbs that the game lacks", f"{of_all:.1%}"),
        none_of("proposed commands and remedies that do not do what they should", wrong, found.calls, 3_000),
        floor("proposed commands tried", found.proposals.total(), 2_000, f"{found.proposals.total():,}"),
        floor("remedies tried", found.remedies.total(), 1_000, f"{found.remedies.total():,}"),
        *(
            floor(f"of them, of {cause}", found.remedies[cause], 100, f"{found.remedies[cause]:,}")
            for cause in ("hands full", "not held")
        ),
        none_of("steps that differ in anything else with reasons and without", differ, steps, 5_000),
        at_most("processor time of a call", [found.seconds / found.calls * 1e6], "us", 50),
    ]
    causes = sum(found.causes.values(), Counter[str]())
    lines = [
        [cause, f"{count:,}", f"{count / found.calls:.1%}", f"{found.proposals[cause]:,}", f"{found.remedies[cause]:,}"]
        for cause, count in causes.most_common()
    ]
    mistakes = [
        [
            kind,
            (KINDS[kind].__doc__ or "").rstrip("."),
            f"{each.total():,}",
            ", ".join(f"{cause} {count / each.total():.0%}" for cause, count in each.most_common(3)),
        ]
        for kind, each in found.causes.items()
    ]
    publish_and_exit(
        "alfworld_why",
        "ALFWorld: why nothing happened",
        f"**Of {found.calls:,} failed commands, {named:.1%} have a named cause; each of {found.proposals.total():,} "
        f"proposed commands worked, and each of {found.remedies.total():,} remedies removed its cause.**",
        rows,
        (),
        (
            "The 134 official unseen games in both grammars, played half by their plans and half at random; at every "
            "step commands of all kinds below were tried that do nothing. They are made, and no log of a model. Of a "
            "remedy it is asked that each of its commands does something, and that the cause is gone after it.",
            "\n".join(markdown(("cause", "commands", "share", "proposals tried", "remedies tried"), lines)),
            "\n".join(markdown(("mistake", "what it is", "commands", "its most frequent causes"), mistakes)),
        ),
    )


if __name__ == "__main__":
    main()
