"""The official games: found in either layout, chosen as officially, and in words what to do where they are missing."""

from __future__ import annotations

import json
import lzma
import shutil
from collections.abc import Callable
from pathlib import Path

import gymnasium
import pytest

from natlang_envs import UsageError, unwrap
from natlang_envs.alfworld.games import official
from natlang_envs.alfworld.games.official import COUNTS, data_folder, official_ids, official_text
from natlang_envs.alfworld.games.splits import UNSEEN_PLANS
from natlang_envs.evaluation import evaluate, load_agent, load_protocol
from tests.support.alfworld_samples import official_folder

FOLDER = official_folder()
needs_games = pytest.mark.skipif(FOLDER is None, reason="the official games are not here: set $ALFWORLD_DATA")
REMEDY = "run `pip install alfworld` and `alfworld-download`, or pass source='generated', which needs no download"
TAIL = '", "solvable": true}'
GAME = json.loads(lzma.decompress(Path(__file__).with_name("release_2.1.2.json.xz").read_bytes()))


@pytest.fixture
def data(monkeypatch: pytest.MonkeyPatch) -> Path:
    assert FOLDER is not None
    monkeypatch.setenv("ALFWORLD_DATA", str(FOLDER))
    return FOLDER


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str | None], None]:
    """Lay out a download, in which three games are all there are of a list."""
    monkeypatch.setitem(COUNTS, "valid_seen", 3)
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))

    def add(name: str, content: str | None) -> None:
        folder = tmp_path / "json_2.1.1" / "valid_seen" / name
        folder.mkdir(parents=True)
        (folder / "traj_data.json").write_text("{}")
        if content is not None:
            (folder / "game.tw-pddl").write_text(content)

    for number in (3, 1, 2):
        add(f"pick_and_place_simple-Mug-None-Shelf-{number}/trial_{number}", json.dumps(GAME))
    return add


def test_a_file_of_another_game_is_refused_when_the_environment_is_made(
    tree: Callable[[str, str | None], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COUNTS, "valid_seen", 4)
    other = {**GAME, "pddl_domain": GAME["pddl_domain"].replace("(heatable ?o)", "(coolable ?o)")}
    tree("pick_and_place_simple-Mug-None-Shelf-4/trial_4", json.dumps(other))
    words = one_line(lambda: gymnasium.make("NatLang/ALFWorld-v0", source="official", split="validation"))
    assert "trial_4/game.tw-pddl: its domain is not ALFWorld's" in words


@pytest.mark.parametrize("split", ["validation", "valid_seen", "eval_in_distribution"])
def test_the_download_of_alfworld_0_4_2_is_played_by_every_name_of_a_split(
    split: str, tree: Callable[[str, str | None], None]
) -> None:
    env = gymnasium.make("NatLang/ALFWorld-v0", source="official", split=split)
    for _ in range(3):
        _, info = env.reset()
        for command in GAME["walkthrough"]:
            info = env.step(command)[4]
        assert info["success"]


def test_the_list_that_only_the_official_games_have(tree: Callable[[str, str | None], None], tmp_path: Path) -> None:
    (tmp_path / "json_2.1.1" / "valid_seen").rename(tmp_path / "json_2.1.1" / "valid_train")
    env = unwrap(gymnasium.make("NatLang/ALFWorld-v0", source="official", split="valid_train"))
    assert len(list(env.tasks.ids())) == 3
    words = one_line(lambda: gymnasium.make("NatLang/ALFWorld-v0", split="valid_train"))
    assert words == "only the official games have the split 'valid_train': pass source='official'"


def one_line(call: Callable[[], object]) -> str:
    with pytest.raises(UsageError) as caught:
        call()
    assert "\n" not in str(caught.value)
    assert "0 games" not in str(caught.value)
    return str(caught.value)


# A download as alfworld-download lays it out.


def test_games_are_chosen_as_the_alfworld_package_does(tree: Callable[[str, str | None], None], tmp_path: Path) -> None:
    tree("pick_and_place_with_movable_recep-Mug-Plate-Shelf-4/trial_4", json.dumps(GAME))
    tree("pick_and_place_simple-AppleSliced-None-Shelf-5/trial_5", json.dumps(GAME))
    tree("pick_and_place_simple-Mug-None-Shelf-6/trial_6", '{"grammar": "x", "solvable": false}')
    tree("pick_and_place_simple-Mug-None-Shelf-7/trial_7", '{"grammar": "x"}')
    tree("pick_and_place_simple-Mug-None-Shelf-8/trial_8", None)
    tree("pick_and_place_simple-Mug-None-Shelf-9/trial_9", '{"solvable": "true", "grammar": "x"}')
    ids = official_ids(tmp_path, "valid_seen")
    assert ids == tuple(
        f"official/valid_seen/pick_and_place_simple-Mug-None-Shelf-{number}/trial_{number}" for number in (1, 2, 3)
    )


def test_what_a_file_says_after_the_last_entry_counts_too(
    tree: Callable[[str, str | None], None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COUNTS, "valid_seen", 4)
    content = {"solvable": True, **{key: GAME[key] for key in GAME if key != "solvable"}, "other": [{"a": "b"}]}
    tree("pick_two_obj_and_place-Mug-None-Shelf-4/trial_4", json.dumps(content))
    assert official_ids(tmp_path, "valid_seen")[-1].endswith("trial_4")


def test_a_download_that_broke_off_is_not_taken_for_all_games(
    tree: Callable[[str, str | None], None], tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "json_2.1.1" / "valid_seen" / "pick_and_place_simple-Mug-None-Shelf-2")
    words = one_line(lambda: gymnasium.make("NatLang/ALFWorld-v0", source="official", split="validation"))
    assert words == f"{tmp_path} holds 2 of the 3 official games of valid_seen: {REMEDY}"
    tree("pick_and_place_simple-Mug-None-Shelf-2/trial_2", json.dumps(GAME))
    assert len(official_ids(tmp_path, "valid_seen")) == 3, "what was missing is looked for again"


def test_a_file_that_broke_off_is_named(tree: Callable[[str, str | None], None], tmp_path: Path) -> None:
    tree("pick_and_place_simple-Mug-None-Shelf-4/trial_4", '{"pddl_domain": "(define (dom')
    words = one_line(lambda: official_ids(tmp_path, "valid_seen"))
    assert "trial_4/game.tw-pddl cannot be read" in words
    assert words.endswith("run `alfworld-download -f`")


@pytest.mark.parametrize("split", ["train", "valid_seen", "valid_unseen"])
def test_a_folder_without_games_says_what_to_do(split: official.OfficialSplit, tmp_path: Path) -> None:
    words = one_line(lambda: official_ids(tmp_path, split))
    assert words == f"{tmp_path} holds none of the official games of {split}: {REMEDY}"


def test_no_folder_says_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path / "nowhere"))
    words = one_line(data_folder)
    assert words == (
        f"the official ALFWorld games are not here ($ALFWORLD_DATA is {str(tmp_path / 'nowhere')!r}, which is no "
        f"folder): {REMEDY}"
    )
    monkeypatch.delenv("ALFWORLD_DATA")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert one_line(data_folder) == f"the official ALFWorld games are not here ($ALFWORLD_DATA is not set): {REMEDY}"
    (tmp_path / ".cache" / "alfworld").mkdir(parents=True)
    assert data_folder() == tmp_path / ".cache" / "alfworld", "where alfworld-download puts them"


@pytest.mark.parametrize(
    "content", [b"", b"no archive", lzma.compress(b"{"), lzma.compress(b"[]"), lzma.compress(b'{"games": 3}')]
)
def test_a_compact_file_that_is_none_is_named(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "valid_seen_compact.json.xz"
    path.write_bytes(content)
    assert one_line(lambda: official_ids(tmp_path, "valid_seen")).startswith(f"{path} is no compact file of games (")


# The games themselves.


@needs_games
@pytest.mark.parametrize("split", ["valid_seen", "valid_unseen"])
def test_the_lists_are_complete_and_split_by_room(data: Path, split: official.OfficialSplit) -> None:
    ids = official_ids(data, split)
    assert len(ids) == len(set(ids)) == COUNTS[split]
    rooms = {int(each.split("/")[2].rpartition("-")[2]) for each in ids}
    assert (rooms <= set(UNSEEN_PLANS)) is (split == "valid_unseen")
    env = unwrap(gymnasium.make("NatLang/ALFWorld-v0", source="official", split=split))
    assert tuple(env.tasks.ids()) == ids


@needs_games
def test_both_layouts_give_the_same_games(data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = sorted((data / "json_2.1.1" / "valid_seen").glob("*/*/game.tw-pddl"))
    if not files:
        pytest.skip("there are no original files here, only compact ones")
    monkeypatch.setitem(COUNTS, "valid_seen", len(files))
    (tmp_path / "json_2.1.1").symlink_to(data / "json_2.1.1")
    for task_id in official_ids(tmp_path, "valid_seen"):
        assert official_text(tmp_path, task_id) == official_text(data, task_id)


@needs_games
def test_official_games_are_played_by_type_and_goal_and_in_either_grammar(data: Path) -> None:
    options = {"source": "official", "split": "valid_unseen", "task_types": ["look_at_obj_in_light"]}
    for grammar, word in ((None, "loc "), ("0.4.2", "")):
        env = unwrap(gymnasium.make("NatLang/ALFWorld-v0", **options, grammar=grammar))
        _, info = env.reset(seed=3)
        assert info["task_id"].startswith("official/valid_unseen/look_at_obj_in_light-")
        steps = [env.step(command) for command in env.reference()]
        assert steps[-1][4]["success"]
        assert steps[0][0].startswith(f"You arrive at {word}")
    env = unwrap(gymnasium.make("NatLang/ALFWorld-TomatoMicrowave-v0", source="official", split="validation"))
    (task_id,) = env.tasks.ids()
    assert "-Tomato-None-Microwave-13/" in task_id
    make = lambda: gymnasium.make("NatLang/ALFWorld-TomatoMicrowave-v0", source="official", split="test")  # noqa: E731
    assert "'test' has no game of the types pick_and_place_simple for Tomato-Microwave" in one_line(make)
    other = next(each for each in official_ids(data, "valid_seen") if "Tomato" not in each)
    assert "unknown task" in one_line(lambda: env.reset(options={"task_id": other}))
    unseen = official_ids(data, "valid_unseen")[0]
    assert "pass split='valid_unseen'" in one_line(lambda: env.reset(options={"task_id": unseen}))


@needs_games
@pytest.mark.parametrize("name", ["alfworld-seen/v1", "alfworld-unseen/v1"])
def test_the_reference_wins_all_games_of_the_protocols(data: Path, name: str) -> None:
    protocol = load_protocol(name)
    assert tuple(each.task_id for each in protocol.episodes) == official_ids(data, protocol.kwargs["split"])
    _, trajectories = evaluate(load_agent("reference"), protocol)
    assert all(each.success for each in trajectories)


def test_a_protocol_of_official_games_says_what_it_needs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    words = one_line(lambda: load_protocol("alfworld-unseen/v1").make_env())
    assert words == f"{tmp_path} holds none of the official games of valid_unseen: {REMEDY}"


@needs_games
def test_a_game_file_of_ones_own(data: Path, tmp_path: Path) -> None:
    files = sorted((data / "json_2.1.1").glob("*/*/*/game.tw-pddl"))
    if not files:
        pytest.skip("there are no original files here, only compact ones")
    env = unwrap(gymnasium.make("NatLang/ALFWorld-v0", game=str(files[0])))
    observation, info = env.reset(seed=0)
    assert list(env.tasks.ids()) == [info["task_id"]]
    assert info["task_id"].startswith("own/")
    copy = tmp_path / "elsewhere.tw-pddl"
    copy.write_text(json.dumps(json.loads(files[0].read_text()), indent=1))
    again = unwrap(gymnasium.make("NatLang/ALFWorld-v0", game=str(copy)))
    assert again.reset(options={"task_id": info["task_id"]}) == (observation, info)
    assert env.step(env.reference()[0])[4]["feedback"] != "Nothing happens."
    for changed in ({"split": "train"}, {"task_types": ["look_at_obj_in_light"]}, {"goal": "Mug-Shelf"}):
        words = one_line(lambda changed=changed: gymnasium.make("NatLang/ALFWorld-v0", game=str(copy), **changed))
        assert "a game of your own takes no" in words
