"""Forgeries of agents and entries, beside those of recordings: none of them is ranked."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path
from typing import Any

import pytest

from leaderboard.audit import audit
from leaderboard.pack import pack
from leaderboard.schema import SUBMISSION_FILE
from leaderboard.standings import standings
from leaderboard.standings.badges import BADGES_FILE, note_badge
from natlang_envs import UsageError
from natlang_envs.evaluation import evaluate, load_agent, load_protocol
from natlang_envs.evaluation.runs import provenance
from natlang_envs.trajectory import stream_trajectories
from tests.leaderboard.forge import PROTOCOL, Forged
from tests.leaderboard.test_site import planner

AGENTS = Path(__file__).with_name("forging.py")
CITIES = "dangerous-taxi-pickup-cities/v1"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to run in, with the agents."""
    shutil.copy(AGENTS, tmp_path)
    sys.modules.pop("forging", None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def entry_of(agent: Any, folder: Path, *, protocol: str = PROTOCOL, spec: str = "", **facts: Any) -> Path:
    """Return the entry of a run; `spec` is what it says that `--agent` was."""
    player = load_agent(agent) if isinstance(agent, str) else agent
    spec = spec or (agent if isinstance(agent, str) else "")
    path = Path(spec.partition(":")[2])
    weights = path if path.suffix == ".json" or path.is_absolute() else None
    source = provenance("entry point" if weights else "function", spec)
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
    """Return where an agent may have left notes, under a name that no file of a user's has."""
    places = (here, Path.home(), Path("/tmp"), Path("/var/tmp"), Path("/dev/shm"))
    return [each / "natlang-envs-forged-notes" for each in places]


NOTED = {
    "Noted": (False, "the recording has 100 successes, and playing again has"),
    "Unwatched": (True, "the recording has 100 successes, and playing again has"),
    "Led": (True, "the recording has 100 successes, and playing again has"),
    "Json": (True, "the agent stopped: "),
    "Elsewhere": (True, "tasks drawn afresh are won "),
}


@pytest.mark.parametrize(
    "agent", [pytest.param(each, marks=() if each == "Noted" else pytest.mark.slow) for each in NOTED]
)
def test_what_was_noted_beforehand_helps_nobody(here: Path, agent: str) -> None:
    shown, says = NOTED[agent]
    board = CITIES if agent == "Elsewhere" else PROTOCOL  # of fresh tasks the classic map has too few
    noted(here, board)
    entry = entry_of(f"forging:{agent}", here, protocol=board)
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
        pytest.param(
            "TwoFaced", False, "actions of an agent that does not draw are other ones", marks=pytest.mark.slow
        ),
        ("Privileged", True, "the agent stopped: AttributeError"),
        pytest.param(
            "agreeable", True, "actions of an agent that does not draw are other ones", marks=pytest.mark.slow
        ),
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


@pytest.fixture(scope="module")
def audited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an entry that was audited."""
    folder = tmp_path_factory.mktemp("audited")
    shutil.copy(AGENTS, folder)
    sys.modules.pop("forging", None)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert judged(entry_of("forging:agreeable", folder, deterministic=True), "forging:agreeable") == ""
    return folder


@pytest.fixture
def ranked(here: Path, audited: Path) -> Path:
    """A copy of that entry."""
    shutil.copytree(audited, here, dirs_exist_ok=True)
    return here / "submissions" / PROTOCOL / "agent"


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
