"""`reflect-rl start`: a game in a file becomes players, a protocol and a board."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from typing import Any

import gymnasium
import pytest
from typer.testing import CliRunner

from examples.treasure_hunt import TreasureHuntEnv
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import protocol_names
from natlang_envs.files import cache_folder
from reference_agent import Players, PolicySFTConfig, SFTConfig, tiny_for
from reference_agent.run.command import app
from reference_agent.run.progress import ProgressLines
from reference_agent.sft import Learned
from reference_agent.start import game as game_file
from reference_agent.start.game import GameFile, broken_promises, history_of, read_game
from reference_agent.start.training import Result, Trainer, TriedPlayers, advice
from reference_agent.tiny import own
from tests.support.here import run_here

GAMES = Path(__file__).parents[2] / "examples" / "games"
SMOLLM2 = cache_folder() / "models" / "smollm2"  # before the tests have a cache of their own
MODULES = ("game", "game_teacher")


SECOND = 'register(Registration("Game/Two-v0", f"{__name__}:PostOfficeEnv", "x"))'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    here_again()


def here_again() -> None:
    """Forget the games of other tests, whose file has the same name."""
    for name in MODULES:
        sys.modules.pop(name, None)
    for env_id in [each for each in gymnasium.registry if each.startswith("Game/")]:
        del gymnasium.registry[env_id]


def game(source: str = "post_office", *changes: tuple[str, str]) -> Path:
    """Write one of the example games, changed, into the current folder."""
    text = (GAMES / f"{source}.py").read_text(encoding="utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    Path("game.py").write_text(text, encoding="utf-8")
    return Path("game.py")


def without_teacher(text: str) -> tuple[str, str]:
    return (text[text.index("def teacher") :], "")


@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each.stem, marks=() if each.stem == "keys" else pytest.mark.slow)
        for each in sorted(GAMES.glob("*.py"))
    ],
)
def test_each_example_keeps_the_contract_and_shows_what_its_teacher_goes_by(name: str) -> None:
    read = read_game(game(name))
    assert list(broken_promises(read)) == []
    assert history_of(read) == (0, "")
    assert read.name == "game"
    assert read.written is None


def test_a_teacher_is_written_where_there_is_none() -> None:
    whole = (GAMES / "soup.py").read_text(encoding="utf-8")
    read = read_game(game("soup", without_teacher(whole)))
    assert read.written == Path("game_teacher.py")
    assert 'return f"So I {action}.", action' in Path("game_teacher.py").read_text(encoding="utf-8")
    sys.modules.pop("game_teacher")
    assert read_game(Path("game.py")).written is None, "the user's own from now on"


def test_a_tiny_model_reads_no_mistakes_where_p_of_s_shows_no_step() -> None:
    none, some = (
        sum(each.negative for each in own.played("NatLang/ALFWorld-TomatoMicrowave-v0", "oracle", history))
        for history in (0, 1)
    )
    assert none == 0 < some


def test_the_path_is_shown_where_the_observation_says_too_little() -> None:
    hides = "The last step was {self.order[self.done - 1] if self.done else 'none'}.\".lstrip()", 'Go on.".lstrip()'
    assert history_of(read_game(game("soup", hides))) == (1, "")
    here_again()
    tells_nothing = ('f"{outcome.feedback} A guest of the {wing} wing, {floor} floor.".lstrip()', '"A guest comes."')
    assert re.search(r"^\d+ states are taught two ways", history_of(read_game(game("keys", tells_nothing)))[1])
    here_again()
    invents = ('f"{why}. So I {action}."', 'f"Step 7b says so. So I {action}."')
    assert re.search(r"^100% of the reflections name .*: day-", history_of(read_game(game("soup", invents)))[1])


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            [("register(", "print(")],
            r'registers no environment: add the line register\(Registration\("Game/PostOffice-v0',
        ),
        (
            [("import random", "import randomm")],
            r"cannot be imported \(ModuleNotFoundError: No module named 'randomm'\)",
        ),
        ([("range(120)", "range(1)")], "has no task in the split"),
        (
            [("def teacher", "def tutor"), ("def oracle", "def plan"), ("self.oracle()", "self.plan()")],
            "neither",
        ),
        (
            [
                (
                    "def teacher(",
                    'register(Registration("Game/Two-v0", f"{__name__}:PostOfficeEnv", "x"))\n\n\ndef teacher(',
                )
            ],
            "registers Game/PostOffice-v0, Game/Two-v0: name one with --env",
        ),
    ],
)
def test_a_file_that_is_no_game_is_answered_in_one_line(changes: list[tuple[str, str]], words: str) -> None:
    file = game("post_office", *changes)
    with pytest.raises(UsageError, match=words):
        read_game(file)


def test_files_that_cannot_be_imported_by_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"none\.py is no Python file: name the one of your game"):
        read_game(Path("none.py"))
    game().rename("my-game.py")
    with pytest.raises(
        UsageError, match=r"my-game\.py cannot be imported by its name: use letters, digits and _ alone"
    ):
        read_game(Path("my-game.py"))
    with pytest.raises(UsageError, match=r"is not below this folder: cd /"):
        read_game(GAMES / "soup.py")


def test_the_name_of_a_board_is_plain_and_no_board_of_the_suite() -> None:
    modules = ("games.my_game", "Spiel_2", "größe", "alfworld_dev")
    named = [GameFile(f"{each}:X-v0", print, None).name for each in modules]  # type: ignore[arg-type]
    assert named == ["my-game", "spiel-2", "gr-e", "alfworld-dev"]
    taken = protocol_names()[0].partition("/")[0]
    assert GameFile(f"{taken.replace('-', '_')}:X-v0", print, None).name == f"my-{taken}"  # type: ignore[arg-type]


def test_a_broken_promise_is_named() -> None:
    read = read_game(game("post_office", ("(self.done,) = state", "pass")))
    assert any(each.startswith("a_snapshot") or "snapshot" in each for each in broken_promises(read))


FOLLOWS, DEAF = Learned(1.0, 0.3, 0.4), Learned(0.4, 0.3, 0.4)


@pytest.mark.parametrize(
    ("result", "words"),
    [
        (
            Result(0.1, 0.9, 0.9, DEAF, 25),
            "the policy does not follow the reflection: let the teacher name the command",
        ),
        (
            Result(0.1, 0.9, 0.9, Learned(0.8, 0.3, 0.4), 25),
            "the policy follows the reflection 80% of the time",
        ),
        (Result(0.1, 0.5, 1.0, FOLLOWS, 70), r"knows its demonstrations and not new states: more tasks \(all 70 of"),
        (Result(0.1, 0.5, 1.0, FOLLOWS, 50), r"and not new states: more trajectories \(--minutes\) would help, or a"),
        (Result(0.1, 0.5, 0.5, FOLLOWS, 70), "the reflector does not learn the teacher's reasons: a larger model"),
        (Result(0.1, 1.0, 1.0, FOLLOWS, 70), "both players do as the teacher does, and lose where it never was"),
    ],
)
def test_the_part_that_does_not_learn_is_named(result: Result, words: str) -> None:
    assert re.search(words, advice(result, "smollm2", 70))


def test_a_tiny_model_that_does_not_learn_to_read_stops_by_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "_PATIENCE", 3)
    monkeypatch.setattr(own, "_COPIES", 1)
    said: list[str] = []
    with pytest.raises(
        UsageError, match=r"does not learn to find the label of a named command here: take a larger one"
    ):
        tiny_for(lambda: TreasureHuntEnv("train"), say=said.append)
    assert any(re.search(r"labels (\d+) of \1: ", each) for each in said), "its last step, whatever the most"


def run(*arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(app, ["start", *arguments])
    if isinstance(done.exception, UsageError):
        return 2, str(done.exception)
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done.exit_code, done.output


@pytest.mark.slow
def test_a_trained_game_has_a_protocol_and_a_board_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    made = TriedPlayers("tiny", Players.of(history=0), SFTConfig(steps=1), PolicySFTConfig(steps=1), True)
    monkeypatch.setattr(Trainer, "train", lambda self: (made, Result(0.1, 0.5, 1.0, FOLLOWS, 25)))
    monkeypatch.setattr(game_file, "_run", lambda *command: ended.append(run_here(*command).returncode))
    ended = list[int]()
    code, told = run(str(game()), "--model", "tiny")
    assert (code, ended) == (0, [0] * 4), "the board's help, an evaluation, its entry and its site"
    rows = json.loads(Path("runs/game/board/site/leaderboard.json").read_text(encoding="utf-8"))
    won = {each["name"]: each["success_rate"] for each in rows}
    assert won["oracle"] == 1.0
    assert f"Test games won: {won['reflect-rl-tiny']:.0%}" in told
    assert "Not more, since the reflector knows its demonstrations and not new states" in told
    assert Players.load("runs/game/players").config.history == 0
    played = json.loads(Path("runs/game/protocol.json").read_text(encoding="utf-8"))
    assert (played["name"], played["env_id"], played["kwargs"]) == (
        "game/v1",
        "game:Game/PostOffice-v0",
        {"split": "test"},
    )
    for line in re.findall(r"^\$ (.*)$", told, re.MULTILINE):
        assert line.startswith(("natlang evaluate --agent players:runs/game/players", "natlang-leaderboard "))
    assert run("game.py") == (2, "runs/game is there: choose another --out, or delete it")


@pytest.mark.parametrize(
    ("right", "won", "order"),
    [
        ({"tiny": 0.95, "smollm2": 0.5}, {"tiny": 1.0}, "tiny"),
        ({"tiny": 0.95, "smollm2": 0.5}, {"tiny": 0.8, "smollm2": 0.9}, "tiny smollm2"),
        ({"tiny": 0.6, "smollm2": 0.5}, {"smollm2": 0.2, "tiny": 0.3}, "smollm2 tiny"),
        ({"tiny": 0.6, "smollm2": 0.3}, {"tiny": 1.0}, "tiny"),
        ({"tiny": 0.6, "smollm2": 0.3}, {"tiny": None, "smollm2": 1.0}, "tiny smollm2"),
        ({"tiny": 0.6, "smollm2": 0.1, "whole": 0.0}, {"smollm2": 1.0}, "smollm2"),
        ({"tiny": 0.6, "smollm2": 0.3}, {"tiny": None, "smollm2": None}, "tiny smollm2"),
    ],
)
def test_a_minute_decides_which_model_goes_on_and_what_fails_is_followed_by_the_other(
    right: dict[str, float], won: dict[str, float | None], order: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    went_on: list[str] = []

    def tried(self: Trainer, name: str, _: object) -> TriedPlayers:
        whole = right.get("whole", 1.0) > 0
        return TriedPlayers(name, None, SFTConfig(), PolicySFTConfig(), True, right=right[name], whole=whole)  # type: ignore[arg-type]

    def rounds(self: Trainer, made: TriedPlayers) -> Result:
        went_on.append(made.name)
        if (rate := won[made.name]) is None:
            raise UsageError(own.CANNOT_READ)
        return Result(rate, 0.5, 0.5, FOLLOWS, 25)

    monkeypatch.setattr(Trainer, "_tried", tried)
    monkeypatch.setattr(Trainer, "_rounds", rounds)
    trainer = Trainer(read_game(game()), 0, ("tiny", "smollm2"), 900, ProgressLines(lambda _: None))
    if set(won.values()) == {None}:
        with pytest.raises(UsageError, match="does not learn to find the label"):
            trainer.train()
    else:
        made, result = trainer.train()
        assert result.won == won[made.name] == max(each for each in won.values() if each is not None)
    assert went_on == order.split()


def test_a_game_that_breaks_its_contract_is_not_trained() -> None:
    code, told = run(str(game("post_office", ("(self.done,) = state", "pass"))))
    assert code == 2
    assert re.match(r"game:Game/PostOffice-v0 breaks its contract \(\d+ checks fail\): \w+: AssertionError", told)
    assert not Path("runs").exists()


@pytest.mark.slow
@pytest.mark.timeout(7200)
@pytest.mark.skipif(not SMOLLM2.exists(), reason="reflect-rl models fetch smollm2")
@pytest.mark.parametrize("name", sorted(each.stem for each in GAMES.glob("*.py")))
def test_one_command_trains_a_game_or_says_what_does_not_learn(name: str, tmp_path: Path) -> None:
    shutil.copy(GAMES / f"{name}.py", tmp_path)
    environment: dict[str, Any] = {**os.environ, "NATLANG_CACHE": str(SMOLLM2.parents[1])}
    before = getrusage(RUSAGE_CHILDREN).ru_utime
    command = [sys.executable, "-m", "reference_agent", "start", f"{name}.py"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert (getrusage(RUSAGE_CHILDREN).ru_utime - before) / 60 < 30, "15 minutes of two cores"
    won = int(re.findall(r"^Test games won: (\d+)%$", done.stdout, re.MULTILINE)[0])
    assert won >= 90 or (name != "post_office" and "Not more, since" in done.stdout)
