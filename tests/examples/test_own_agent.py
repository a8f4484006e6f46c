"""An agent for one's own environment: the page's files, as printed, learn what it says in the time that it says."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

import numpy as np
import pytest

from examples.treasure_hunt import TreasureHuntEnv  # registers it, too
from natlang_envs.errors import UsageError
from natlang_envs.files import cache_folder
from reference_agent import (
    CollectConfig,
    ModelConfig,
    Moment,
    Players,
    PolicySFTConfig,
    RLConfig,
    SFTConfig,
    Stage,
    fine_tune_policy,
    tiny_for,
)
from reference_agent.sft import learned
from tests.pages import FILE, blocks

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "new_environment.md"
HUNT = "Example/TreasureHunt-v0"
MINUTES = 10
SMOLLM2 = cache_folder() / "models" / "smollm2"


def teacher(moment: Moment) -> tuple[str, str]:
    action = moment.env.oracle()[0]
    return f"So I {action}.", action


def followed(script: str, folder: Path) -> tuple[str, str, float]:
    """Run a file of the page where all of them lie; return what it prints, its progress and its minutes of a core."""
    for block in blocks(PAGE.read_text(encoding="utf-8")):
        if name := FILE.match(block.text):
            (folder / name[1]).write_text(block.text, encoding="utf-8")
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    before = getrusage(RUSAGE_CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(folder), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [sys.executable, script], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    after = getrusage(RUSAGE_CHILDREN)
    return done.stdout, done.stderr, (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime) / 60


def won(printed: str) -> int:
    """Return the held-out tasks that were won, in percent."""
    return int(re.findall(r"^held-out tasks won: (\d+)%$", printed, re.MULTILINE)[0])


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_an_agent_from_nothing_wins_tasks_that_it_has_not_seen(tmp_path: Path) -> None:
    printed, progress, minutes = followed("hunt_tiny.py", tmp_path)
    assert won(printed) >= 80
    assert minutes < MINUTES
    first = next(line for line in progress.splitlines() if "chance" in line)
    assert re.match(
        r"0:\d\d the policy chooses as the teacher \d+% of the time, chance \d+%, without the .*: it has", first
    )
    assert "not learned to read" not in printed
    assert Players.load(tmp_path / "runs" / "hunt").config.history == 1


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not SMOLLM2.exists(), reason="reflect-rl models fetch smollm2")
def test_an_agent_of_a_pretrained_model_wins_them_too(tmp_path: Path) -> None:
    printed, _, minutes = followed("hunt_smollm2.py", tmp_path)
    assert won(printed) >= 80
    assert minutes < 2 * MINUTES, "two cores"


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.skipif(not SMOLLM2.exists(), reason="reflect-rl models fetch smollm2")
def test_ten_steps_teach_a_pretrained_policy_to_follow_a_reflection() -> None:
    pair = Players.of("smollm2", ModelConfig(lora_rank=16), head="saycan", history=0)
    games = pair.collect(HUNT, teacher, CollectConfig(trajectories=25, negatives=0))
    fine_tune_policy(pair.policy, games, PolicySFTConfig(steps=10, batch=8))
    few = CollectConfig(trajectories=6, policy_trajectories=6, negatives=0)
    unseen = pair.collect(Stage(HUNT, env_kwargs={"split": "validation"}), teacher, few)
    # Each sentence names a command that was drawn, which nothing else tells.
    rng = np.random.default_rng(0)
    drawn = [str(rng.choice(each.commands)) for each in unseen]
    told = [replace(each, action=one, reflection=f"So I {one}.") for each, one in zip(unseen, drawn, strict=True)]
    result = learned(pair.policy, told, most=24)
    assert result.accuracy >= 0.95
    assert result.without is not None
    assert result.without < 0.6


@pytest.mark.slow
def test_a_tiny_model_that_has_not_learned_says_so() -> None:
    said: list[str] = []
    model = tiny_for(HUNT, teacher, steps=1, say=said.append)
    assert said[0].endswith("it has not learned to read the reflection")
    assert said[-1].endswith("it has not learned to read the reflection")
    assert model.origin is None
    words = model.tokenizer.tokenize(" cellar garden kitchen attic chest")
    assert len(words) == 5, "what tells states apart is a token each"


def test_players_say_what_they_have_learned_while_they_learn() -> None:
    said: list[str] = []
    pair = Players.of()
    few = pair.collect(HUNT, teacher, CollectConfig(trajectories=3, policy_trajectories=3))
    assert pair.fine_tune(few, SFTConfig(2, batch=4), PolicySFTConfig(2, batch=4), say=said.append) is not None
    pair.reinforce(Stage(HUNT, 1), RLConfig(batch=2), say=said.append)
    assert re.match(r"0:\d\d the policy chooses as the teacher \d+% of the time, chance \d+%", said[0])
    patterns = [r"reflector, loss 2 of 2: \d+\.\d{3}", r"policy, loss 2 of 2: \d+\.\d{3}", r"stage 0, success 1 of 1: "]
    assert all(any(re.search(each, line) for line in said) for each in patterns)


@pytest.mark.slow
def test_the_tiny_model_is_the_same_again() -> None:
    made = [tiny_for(HUNT, teacher, steps=2, seed=seed, say=lambda _: None).fingerprint() for seed in (1, 1, 2)]
    assert made[0] == made[1] != made[2]


class SilentHunt(TreasureHuntEnv):
    """A hunt that lists no commands."""

    def _admissible_commands(self) -> tuple[str, ...]:
        return ()


def test_an_environment_that_lists_no_commands_is_refused() -> None:
    with pytest.raises(UsageError, match=r"lists no commands, which the tiny model chooses from: load_model"):
        tiny_for(lambda: SilentHunt("train"), teacher)
