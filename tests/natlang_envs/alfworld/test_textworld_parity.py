"""The native engine against the real TextWorld, on games that we generate and export, and on a few official ones."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from natlang_envs.alfworld.engine.game import GRAMMARS, GameText, parse_game, read_game_file
from natlang_envs.alfworld.engine.world import World
from natlang_envs.alfworld.games.generator import generate, task_ids
from natlang_envs.alfworld.games.official import official_ids, official_text
from natlang_envs.alfworld.games.splits import TASK_TYPES, OfficialSplit
from natlang_envs.alfworld.textworld import backend
from natlang_envs.alfworld.textworld.backend import TextWorldWorld
from natlang_envs.alfworld.textworld.export import export_game
from natlang_envs.alfworld.textworld.files import UNKNOWN_TASK, game_file, rules
from tests.support.alfworld_real import needs_official, needs_textworld
from tests.support.alfworld_samples import official_folder
from tests.support.slow import slow_unless
from tools.alfworld.parity_recordings import (
    RANDOM_STEPS,
    EngineRecording,
    Step,
    differences,
    play,
    read_recording,
    write_recording,
)
from tools.alfworld.textworld_parity import GameInGrammar, Tally
from tools.alfworld.textworld_speed import faster

# Of each task type one game in a seen room, in one grammar, and one in an unseen room, in the other; `make test` plays
# three, of the task types that test_realistic.py leaves out.
GENERATED = [(task_type, seen) for task_type in TASK_TYPES for seen in (True, False)]
OFFICIAL: list[tuple[OfficialSplit, str]] = [
    ("valid_seen", "0.4.2"),
    ("valid_unseen", "json_2.1.1"),
    ("train", "json_2.1.1"),
    ("train", "0.4.2"),
]


def recorded(text: GameText, name: str) -> EngineRecording:
    with faster():
        return EngineRecording(name, text.grammar, {}, 0.0, play(TextWorldWorld(text), text, name))


@needs_textworld
@pytest.mark.parametrize(("task_type", "seen"), slow_unless(lambda number: number in (2, 7), GENERATED))
def test_a_generated_game_is_played_as_textworld_plays_it(task_type: str, seen: bool, tmp_path: Path) -> None:
    ids = list(task_ids(seen, (task_type,)))
    name = ids[len(ids) // 3]
    path = export_game(generate(name, GRAMMARS[seen]), tmp_path / "game")
    text = read_game_file(path)
    assert json.loads(path.read_text()) == game_file(text)  # what the real engine is given
    recording = recorded(text, name)
    assert list(differences(recording, parse_game(text))) == []
    assert recording.plan_won
    assert len(recording.steps) > RANDOM_STEPS


@needs_textworld
def test_the_download_of_alfworld_0_4_2_is_played_as_textworld_plays_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = json.loads(lzma.decompress(Path(__file__).with_name("release_2.1.2.json.xz").read_bytes()))
    path = tmp_path / "game.tw-pddl"
    path.write_text(json.dumps(content), "utf-8")
    text = read_game_file(path)
    assert text.grammar == "json_2.1.2"
    # The real engine is given the file as it is, not the one that we would write.
    monkeypatch.setattr(backend, "game_file", lambda _: content)
    recording = recorded(text, "release-2.1.2")
    assert list(differences(recording, parse_game(text))) == []
    assert recording.plan_won


@needs_textworld
@needs_official
@pytest.mark.parametrize(("split", "grammar"), slow_unless(lambda number: number == 1, OFFICIAL))
def test_an_official_game_is_played_as_textworld_plays_it(split: OfficialSplit, grammar: str) -> None:
    folder = official_folder()
    assert folder
    ids = official_ids(folder, split)
    name = ids[len(ids) * 2 // 3]
    text = official_text(folder, name)._replace(grammar=grammar)
    recording = recorded(text, name)
    assert list(differences(recording, parse_game(text))) == []
    assert recording.plan_won


@needs_textworld
@needs_official
def test_the_rules_and_texts_of_the_papers_time_are_the_official_ones() -> None:
    folder = official_folder()
    assert folder
    path = folder / "valid_unseen_compact.json.xz"
    if not path.is_file():
        pytest.skip("no compact file")
    with lzma.open(path) as file:
        official = json.load(file)
    domain, texts = rules("json_2.1.1")
    assert domain == official["domain"]
    assert texts.replace(UNKNOWN_TASK, '"@@"') == official["grammar_template"]


NAME = "generated/seen/pick_heat_then_place_in_recep/12/345"


def played_by_our_own_engine() -> EngineRecording:
    text = generate(NAME, "0.4.2")
    return EngineRecording(NAME, text.grammar, {"walk": "1"}, 1.5, play(World(parse_game(text)), text, NAME))


def test_a_walk_depends_on_the_name_alone_and_stays_where_things_can_be_done() -> None:
    recording = played_by_our_own_engine()
    assert recording == played_by_our_own_engine()
    assert list(differences(recording, parse_game(generate(NAME, "0.4.2")))) == []
    walk = recording.steps[1 : RANDOM_STEPS + 1]
    gone = sum(step.command.startswith("go to") for step in walk)
    assert 0 < gone < RANDOM_STEPS / 2
    assert any(step.text == "Nothing happens." for step in walk)
    assert recording.plan_won


@pytest.mark.parametrize("what", ["text", "commands", "won"])
def test_whatever_differs_is_found(what: str) -> None:
    recording = played_by_our_own_engine()
    step = recording.steps[31]
    changed = {"text": step.text + " ", "commands": step.commands[::-1], "won": not step.won}[what]
    steps = (*recording.steps[:31], Step(**{**step._asdict(), what: changed}), *recording.steps[32:])
    [found] = differences(recording._replace(steps=steps), parse_game(generate(NAME, "0.4.2")))
    assert (found.step, found.command, found.what) == (31, step.command, what)
    assert found.expected != found.got or what == "commands"


def test_a_report_tells_what_differs_from_what_is_not_recorded_yet() -> None:
    tally, played, recording = Tally(), GameInGrammar(NAME, "0.4.2"), played_by_our_own_engine()
    tally.missing = 2
    assert "Nothing was compared" in tally.conclusion()
    tally.add(played, recording, [])
    assert "The native engine equals TextWorld in what was compared (2 games are not recorded)" in tally.conclusion()
    assert not tally.clean
    tally.missing = 0
    assert tally.clean
    changed = recording._replace(steps=(recording.steps[0]._replace(text="?"), *recording.steps[1:]))
    tally.add(played, changed, list(differences(changed, parse_game(generate(NAME, "0.4.2")))))
    assert "THE NATIVE ENGINE DOES NOT EQUAL TEXTWORLD" in tally.conclusion()


def test_recordings_are_read_back_and_broken_ones_are_none(tmp_path: Path) -> None:
    path, recording = tmp_path / "some" / "game.json.gz", played_by_our_own_engine()
    assert read_recording(path) is None
    write_recording(path, recording)
    assert read_recording(path) == recording
    path.write_bytes(path.read_bytes()[:-20])
    assert read_recording(path) is None
