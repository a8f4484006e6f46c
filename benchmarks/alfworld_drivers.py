"""Whether programs of five kinds see the same of our adapter as of alfworld's package.

`python benchmarks/alfworld_drivers.py` prints a table and writes it to benchmarks/results/alfworld_drivers.md, in half
a minute of one core. It needs the extra `alfworld`, and $ALFWORLD_DATA with the official games. The exit code is 1
where anything differs.
"""

from __future__ import annotations

import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from harness import Row, publish_and_exit

sys.path.insert(0, str(Path(__file__).parents[1]))  # for `tools`, which is not installed
sys.path.remove(str(Path(__file__).parent))  # where a file has the name of the package alfworld

from natlang_envs.alfworld.games.official import data_folder, official_ids, official_text
from natlang_envs.alfworld.textworld.backend import borrowed
from natlang_envs.errors import UsageError
from tools.alfworld.drivers import DRIVERS, Driver, config_of, ours, theirs, write_games
from tools.alfworld.textworld_speed import faster

ENVIRONMENTS, STEPS = 16, 50


def compared(name: str, drive: Driver, config: dict[str, Any], games: Sequence[str]) -> Row:
    print(f"{name} …", file=sys.stderr, flush=True)
    begun = time.process_time()
    own = list(drive(ours(), config, games, STEPS))
    between = time.process_time()
    with borrowed():
        real = list(drive(theirs(), config, games, STEPS))
    after = time.process_time()
    differ = sum(one != other for one, other in zip_longest(own, real))
    won = len({moment.game for moment in own if moment.done and moment.reward})
    what = f"{name}: moments that differ, of {len(own)} in {len(games)} environments; {won} games won"
    return Row(
        what,
        str(differ),
        f"{after - between:,.0f} s",
        f"{(after - between) / (between - begun):,.0f} x",
        "",
        "0",
        not differ,
    )


def main() -> None:
    warnings.simplefilter("ignore")  # that these are not all official games
    with tempfile.TemporaryDirectory() as name:
        try:
            data = data_folder()
            ids = official_ids(data, "valid_unseen")
            chosen = ids[:: len(ids) // ENVIRONMENTS][:ENVIRONMENTS]
            texts = {each: official_text(data, each)._replace(grammar="json_2.1.2") for each in chosen}
            games = write_games(Path(name), texts)
        except UsageError as error:
            print(f"benchmarks/alfworld_drivers.py: {error}", file=sys.stderr)
            sys.exit(2)
        config = config_of(Path(name), STEPS)
        with faster(ENVIRONMENTS):
            rows = [compared(kind, drive, config, games) for kind, drive in DRIVERS.items()]
    publish_and_exit(
        "alfworld_drivers",
        f"ALFWorld: five kinds of programs, {ENVIRONMENTS} environments, {STEPS} steps",
        "**Each program sees the same with its import changed.**",
        rows,
        ("alfworld", "textworld"),
        (
            "Official unseen games in the words of today's download. Half of the environments follow a plan that wins, "
            "the others act at random, and a fifth of all commands are mistakes. Compared are observations, rewards, "
            "ends, admissible commands and games; of TALES the other infos, too. `theirs` is the processor time of the "
            "package, whose pure functions keep their results here from one program to the next (the first one pays "
            "for them), and the ratio that to ours.",
        ),
    )


if __name__ == "__main__":
    main()
