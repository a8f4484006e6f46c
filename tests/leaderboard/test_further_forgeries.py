"""Forgeries of players, agents, entries and proposals, beside those of recordings: none of them is ranked."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from leaderboard.audit import audit
from leaderboard.badges import BADGES_FILE, note_badge
from leaderboard.changes import check_changes
from leaderboard.pack import pack
from leaderboard.schema import CHECKPOINTS, SUBMISSION_FILE
from leaderboard.site import build
from leaderboard.standings import standings
from natlang_envs import UsageError
from natlang_envs.evaluation import evaluate, load_agent, load_protocol
from natlang_envs.evaluation.runs import provenance
from natlang_envs.trajectory import stream_trajectories
from reference_agent.run.pipeline import train
from reference_agent.run.published import publish
from tests.leaderboard.forge import PROTOCOL, Forged
from tests.leaderboard.test_changes import checkout, commit
from tests.leaderboard.test_site import planner
from tests.reference_agent.conftest import quick_config

__all__ = ["checkout"]  # a fixture

AGENTS = Path(__file__).with_name("forging.py")
CITIES = "dangerous-taxi-pickup-cities/v1"


class Trained(NamedTuple):
    """Two runs of seconds and the players that were published of them."""

    folder: Path
    runs: tuple[Path, Path]

    @property
    def players(self) -> Path:
        return self.folder / "players"


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Trained:
    folder = tmp_path_factory.mktemp("forged")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NATLANG_CACHE", str(folder / "cache"))
        runs = (folder / "one", folder / "two")
        for seed, run in enumerate(runs):
            train(quick_config(f"seed={seed}"), run, lambda *_: None)
            publish(run, "policy", folder / "players" / f"{run.name}.json")
        publish(runs[0], "policy-sft", folder / "players" / "before.json")
    return Trained(folder, runs)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trained: Trained) -> Path:
    """A folder to run in, with the agents and copies of the players."""
    shutil.copy(AGENTS, tmp_path)
    shutil.copytree(trained.players, tmp_path / "players")
    sys.modules.pop("forging", None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def entry_of(agent: Any, folder: Path, *, protocol: str = PROTOCOL, spec: str = "", **facts: Any) -> Path:
    """Return the entry of a run; `spec` is what it says that `--agent` was."""
    player = load_agent(agent) if isinstance(agent, str) else agent
    spec = spec or (agent if isinstance(agent, str) else "")
    path = Path(spec.partition(":")[2])
    weights = path if path.suffix == ".json" or path.is_absolute() else None
    source = provenance("entry point" if weights else "function", spec, weights)
    evaluate(player, protocol, out=folder / "run", batch=1, source=source)
    return pack(folder / "run", name="agent", out=folder / "submissions", **facts)


def judged(entry: Path, agent: str, **options: Any) -> str:
    """Audit as a maintainer does, who notes a badge for whatever passes; return what was wrong."""
    try:
        found = audit(entry, agent, "beacon", **options)
    except UsageError as error:
        return str(error)
    if not found.problem:
        note_badge(entry.parents[3] / BADGES_FILE, "audited", {found.entry: found.recording})
    return found.problem


def ranks(submissions: Path) -> dict[str, int | None]:
    return {row.entry.submission.name: row.rank for table in standings(submissions) for row in table.rows}


# Players.


def changed_weights(here: Path) -> str:
    for file in (here / "players" / "files").iterdir():
        content = gzip.decompress(file.read_bytes())
        file.write_bytes(gzip.compress(content[:-1] + bytes([content[-1] ^ 1])))
    return "has not the SHA-256 of its name: it was changed, or is damaged"


def another_player(here: Path) -> str:
    (here / "players" / "two.json").replace(here / "players" / "one.json")
    return "the entry played the checkpoint SHA-256 .*, and this agent has SHA-256"


def another_reflector(here: Path) -> str:
    one, two = (json.loads((here / "players" / f"{name}.json").read_text()) for name in ("one", "two"))
    one["files"]["reflector/model.safetensors"] = two["files"]["reflector/model.safetensors"]
    (here / "players" / "one.json").write_text(json.dumps(one))
    return "the entry played the checkpoint SHA-256 .*, and this agent has SHA-256"


def the_policy_before_rl(here: Path) -> str:
    (here / "players" / "before.json").replace(here / "players" / "one.json")
    return "the entry played the checkpoint SHA-256 .*, and this agent has SHA-256"


def a_link_to_a_player(here: Path) -> str:
    (here / "players" / "one.json").rename(here / "elsewhere.json")
    (here / "players" / "one.json").symlink_to(here / "elsewhere.json")
    return "is missing or is no plain file"


def files_of_others(here: Path) -> str:
    told = (here / "players" / "one.json").read_text()
    (here / "players" / "one.json").write_text(told.replace('"policy/config.json"', '"../../elsewhere.json"'))
    return "which is no file of a player"


@pytest.mark.parametrize(
    "change",
    [changed_weights, another_player, another_reflector, the_policy_before_rl, a_link_to_a_player, files_of_others],
    ids=lambda change: change.__name__,
)
def test_a_player_that_was_changed_after_its_entry_is_refused(here: Path, change: Callable[[Path], str]) -> None:
    agent = f"reflect-rl:{here}/players/one.json"
    entry = entry_of(agent, here, deterministic=True)
    says = change(here)
    with pytest.raises(UsageError, match=says):
        audit(entry, agent, "beacon")
    assert ranks(here / "submissions") == {"agent": None}


def test_a_player_is_ranked_as_it_was_published_and_not_as_it_was_trained(here: Path, trained: Trained) -> None:
    published = f"reflect-rl:{here}/players/one.json"
    entry = entry_of(f"reflect-rl:{trained.runs[0]}", here, deterministic=True)
    assert "the entry played the checkpoint SHA-256" in judged(entry, published)
    assert ranks(here / "submissions") == {"agent": None}
    shutil.rmtree(here / "submissions")
    shutil.rmtree(here / "run")
    assert judged(entry_of(published, here, deterministic=True), published) == ""
    assert ranks(here / "submissions") == {"agent": 1}


def test_a_recording_of_ones_own_under_the_checkpoint_of_another_is_not_ranked(here: Path) -> None:
    victim = f"reflect-rl:{here}/players/one.json"
    entry = entry_of(planner("I am that model."), here, spec=victim, deterministic=True)
    assert "actions of an agent that does not draw are other ones" in judged(entry, victim)
    assert "this agent has none" in judged(entry, "forging:agreeable")
    assert ranks(here / "submissions") == {"agent": None}


def test_draws_that_were_chosen_are_not_ranked_under_the_boards_loader(here: Path) -> None:
    agent = f"reflect-rl-sample:{here}/players/one.json"
    path = Path(agent.partition(":")[2])
    best = load_agent(f"reflect-rl:{here}/players/one.json")
    evaluate(best, PROTOCOL, out=here / "run", batch=1, source=provenance("entry point", agent, path))
    facts = here / "run" / "run.json"
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "sampling": True}))
    entry = pack(here / "run", name="agent", out=here / "submissions")
    assert "the actions are more likely than draws are, by " in judged(entry, agent)
    assert ranks(here / "submissions") == {"agent": None}


def test_files_that_no_digest_stands_for_say_nothing_of_chances(here: Path) -> None:
    agent = f"reflect-rl-sample:{here}/players/one.json"
    entry = entry_of(agent, here)
    assert audit(entry, agent, "beacon").surprise is not None
    assert audit(entry, agent, "beacon", files=here / "players").surprise is None


# Agents.


def noted(here: Path, protocol: str) -> None:
    """Let an agent note what the oracle does on a board."""
    evaluate(load_agent("oracle"), protocol, out=here / "oracle")
    env = load_protocol(protocol).make_env()
    plans: dict[str, str] = {}
    for each in stream_trajectories(here / "oracle" / "trajectories.jsonl.gz"):
        observation, _ = env.reset(options={"task_id": each.task_id})
        for action in each.actions:
            plans[observation] = action
            observation = env.step(action)[0]
    (here / "plans.json").write_text(json.dumps(plans))


def forgotten(here: Path) -> list[Path]:
    places = (here, Path.home(), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
    return [each / "notes" for each in places]


NOTED = {
    "Noted": (False, "the recording has 200 successes, and playing again has"),
    "Unwatched": (True, "the recording has 200 successes, and playing again has"),
    "Led": (True, "the recording has 200 successes, and playing again has"),
    "Json": (True, "the agent stopped: "),
    "Elsewhere": (True, "tasks drawn afresh are won "),
}


@pytest.mark.parametrize("agent", NOTED)
def test_what_was_noted_beforehand_helps_nobody(here: Path, agent: str) -> None:
    shown, says = NOTED[agent]
    noted(here, CITIES)
    entry = entry_of(f"forging:{agent}", here, protocol=CITIES)
    for place in forgotten(here):
        place.unlink(missing_ok=True)
    (bag := here / "bag").mkdir()
    for file in ("forging.py", "plans.json"):
        shutil.copy(here / file, bag)
    for _ in range(1 + (agent == "Elsewhere")):  # what it left behind the first time would help it the second time
        told = judged(entry, f"forging:{agent}", files=bag if shown else None)
        assert re.search(says, told), told
    assert ranks(here / "submissions") == {"agent": None}
    assert sorted(each.name for each in bag.iterdir()) == ["forging.py", "plans.json"]


@pytest.mark.parametrize(
    ("agent", "deterministic", "says"),
    [
        ("Clock", True, "actions of an agent that does not draw are other ones"),
        ("TwoFaced", False, "actions of an agent that does not draw are other ones"),
        ("Privileged", True, "the agent stopped: AttributeError"),
        ("agreeable", True, "actions of an agent that does not draw are other ones"),
    ],
)
def test_an_agent_that_is_not_what_it_says_is_not_ranked(
    here: Path, agent: str, deterministic: bool, says: str
) -> None:
    entry = entry_of(planner("So I say."), here, deterministic=deterministic)
    assert says in judged(entry, f"forging:{agent}")
    assert ranks(here / "submissions") == {"agent": None}


def test_a_function_is_not_ranked_among_models(here: Path) -> None:
    said: list[dict[str, Any]] = [{"model": "gpt-5"}, {"parameters": 10**12}, {"track": {"method": "rl"}}]
    for facts in said:
        entry = entry_of("forging:agreeable", here, deterministic=True, **facts)
        assert "this agent has neither weights nor an endpoint" in judged(entry, "forging:agreeable")
        assert ranks(here / "submissions") == {"agent": None}
        shutil.rmtree(here / "submissions")
        shutil.rmtree(here / "run")
    entry = entry_of("forging:agreeable", here, deterministic=True)
    assert judged(entry, "forging:agreeable") == ""
    assert [row.kind for row in standings(here / "submissions")[0].rows] == ["hand-written"]


# Entries beside one that is ranked.


@pytest.fixture
def ranked(here: Path) -> Path:
    """An entry that was audited."""
    entry = entry_of("forging:agreeable", here, deterministic=True)
    assert judged(entry, "forging:agreeable") == ""
    return entry


def beside(ranked: Path, name: str, facts: Any = (), word: str | None = None) -> Path:
    """Return a forged copy of an entry, with other facts and perhaps a word said in it."""
    other = ranked.with_name(name)
    shutil.copytree(ranked, other)
    forged = Forged(other)
    forged.facts |= {"name": name, **dict(facts)}
    if word is not None:
        forged.episodes[0]["reflections"][0] = word
    forged.save(redigest=True)
    return other


@pytest.mark.parametrize("word", [None, "."])
def test_the_recording_of_a_ranked_row_ranks_no_other(ranked: Path, word: str | None) -> None:
    beside(ranked, "copy", word=word)
    found = ranks(ranked.parents[2])
    assert found.pop("agent") == 1
    assert found == ({} if word is None else {"copy": None})


def test_a_badge_is_of_one_recording(ranked: Path) -> None:
    (other := beside(ranked, "other", word="better")).rename(ranked.with_name("kept"))
    shutil.rmtree(ranked)
    ranked.with_name("kept").rename(ranked)
    forged = Forged(ranked)
    forged.facts["name"] = ranked.name
    forged.save(redigest=True)
    assert not other.exists()
    with pytest.raises(UsageError, match=r"audited: .*/agent is of another recording now: check it again"):
        ranks(ranked.parents[2])


def test_a_badge_is_of_one_board(ranked: Path) -> None:
    board = ranked.parents[2] / CITIES
    board.mkdir(parents=True)
    shutil.copytree(ranked, board / "agent")
    tables = {table.protocol.name: table for table in standings(ranked.parents[2])}
    assert tables[CITIES].rows == ()
    assert "its submission.json says" in tables[CITIES].left_out[0][1]


def test_a_seed_that_was_not_audited_joins_no_ranked_series(ranked: Path) -> None:
    badges = ranked.parents[3] / BADGES_FILE
    for seed in (0, 1):
        entry = beside(ranked, f"series-seed{seed}", word=f"seed {seed}")
        digest = json.loads((entry / SUBMISSION_FILE).read_text())["trajectories_sha256"]
        note_badge(badges, "audited", {f"{PROTOCOL}/{entry.name}": digest})
    before = next(row for table in standings(ranked.parents[2]) for row in table.rows if len(row.members) == 2)
    stranger = beside(ranked, "series-seed2", word="seed 2")
    forged = Forged(stranger)
    forged.facts["date"] = "2026-11-22"
    forged.save(redigest=True)
    rows = [row for table in standings(ranked.parents[2]) for row in table.rows]
    after = next(row for row in rows if len(row.members) == 2)
    assert after.entry.result.success_rate == before.entry.result.success_rate
    assert [row.rank for row in rows if row.entry.submission.name == "series-seed2"] == [None]


def test_learned_agents_are_not_hidden_among_hand_written_ones(ranked: Path) -> None:
    made = json.loads((ranked / SUBMISSION_FILE).read_text())["run"]
    made["provenance"]["checkpoint"] = "0" * 64
    other = beside(ranked, "other", {"track": {"method": "hand-written"}, "run": made}, word="by hand")
    assert ranks(ranked.parents[2]) == {"agent": 1}
    assert "track.method hand-written is of agents without weights" in standings(ranked.parents[2])[0].left_out[0][1]
    assert other.exists()


# Proposals that touch players.


@pytest.fixture
def with_players(checkout: Path, trained: Trained) -> Path:
    shutil.copytree(trained.players, checkout / CHECKPOINTS, ignore=shutil.ignore_patterns("two.json"))
    held = set(json.loads((trained.players / "two.json").read_text())["files"].values())
    for name in ("one", "before"):
        held -= set(json.loads((trained.players / f"{name}.json").read_text())["files"].values())
    for digest in held:
        (checkout / CHECKPOINTS / "files" / f"{digest}.gz").unlink()
    commit(checkout)
    return checkout


def test_a_player_is_added_whole(with_players: Path, trained: Trained) -> None:
    shutil.copytree(trained.players, with_players / CHECKPOINTS, dirs_exist_ok=True)
    checked = check_changes("HEAD", with_players)
    assert checked.holds, checked.markdown


def rewritten(root: Path) -> str:
    file = root / CHECKPOINTS / "one.json"
    file.write_text(file.read_text().replace('"policy"', '"policy" '))
    return "one.json`: a published player is never changed or removed: entries name its SHA-256"


def weights_rewritten(root: Path) -> str:
    file = next((root / CHECKPOINTS / "files").iterdir())
    file.write_bytes(b"other weights")
    return f"{file.name}`: a published player is never changed or removed"


def weights_removed(root: Path) -> str:
    next((root / CHECKPOINTS / "files").iterdir()).unlink()
    return "a published player is never changed or removed"


def something_else(root: Path) -> str:
    (root / CHECKPOINTS / "run.sh").write_text("#!/bin/sh")
    return "run.sh` is no file of a published player"


def weights_of_nobody(root: Path) -> str:
    (root / CHECKPOINTS / "files" / f"{'0' * 64}.gz").write_bytes(b"")
    return "belongs to no player that is proposed"


def a_player_without_files(root: Path) -> str:
    told = {"format": 1, "policy": "policy", "files": {"settings.json": "0" * 64}}
    (root / CHECKPOINTS / "empty.json").write_text(json.dumps(told))
    return "empty.json`: "


@pytest.mark.parametrize(
    "change",
    [rewritten, weights_rewritten, weights_removed, something_else, weights_of_nobody, a_player_without_files],
    ids=lambda change: change.__name__,
)
def test_a_proposal_changes_no_player(with_players: Path, change: Callable[[Path], str]) -> None:
    says = change(with_players)
    checked = check_changes("HEAD", with_players)
    assert not checked.holds
    assert says in checked.markdown


def test_the_site_has_the_player_of_a_row(here: Path) -> None:
    agent = f"reflect-rl:{here}/players/one.json"
    entry = entry_of(agent, here, deterministic=True)
    shutil.copytree(here / "players", here / CHECKPOINTS.name)
    build(here / "submissions", here / "site")
    page = (here / "site" / "entries" / PROTOCOL / entry.name / "index.html").read_text()
    assert 'href="../../../../players/one.json"' in page
    assert not (here / "site" / "players" / "two.json").exists()
    players = [load_agent(f"reflect-rl:{folder}/one.json") for folder in (here / "players", here / "site" / "players")]
    one, other = (evaluate(each, PROTOCOL, episodes=3)[1] for each in players)
    assert one == other
