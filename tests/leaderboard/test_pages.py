"""What a page shows beside the score: seeds as one row, kinds of tasks, curves, the game; and who can read it."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from leaderboard.pack import pack, read_curve
from leaderboard.result import LEDGER_FILE, by_kind, kinds_of, read_ledger
from leaderboard.site import build
from leaderboard.site.episodes import SHOWN, shown_episodes
from leaderboard.site.plots import learning_curves
from leaderboard.standings import standings
from leaderboard.standings.badges import BADGES_FILE
from leaderboard.verify import verify
from natlang_envs.conformance.servers import chat_server
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import AgentInput, evaluate, load_protocol
from natlang_envs.evaluation.chat_players import load_tools
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.evaluation.statistics import two_level_interval
from natlang_envs.trajectory import read_trajectories
from tests.chromium import needs_chromium, rendered, scripted
from tests.leaderboard.conftest import NAME, Finished
from tests.leaderboard.forge import PROTOCOL

REPOSITORIES = ("nltk", "pytest", "scrapy", "streamlink", "structlog", "xarray")
LEDGER = Path(__file__).parents[2] / "leaderboard" / LEDGER_FILE
BOARD = f"boards/{PROTOCOL}/index.html"


def add(submissions: Path, run: Path, command: int, name: str, author: str = "A. Nonymous") -> Path:
    """Play the listed command of that number each time, and pack the run."""

    def play(view: AgentInput) -> str:
        return view.admissible_commands[(command + len(view.path)) % len(view.admissible_commands)]

    evaluate(play, PROTOCOL, name=name, out=run)
    return pack(run, name=name, out=submissions, authors=(author,))


# Training seeds.


def test_seeds_of_one_agent_are_one_row(submissions: Path, tmp_path: Path) -> None:
    seeds = [add(submissions, tmp_path / str(seed), seed, f"agent-seed{seed}") for seed in range(3)]
    (table,) = standings(submissions)
    (series,) = (row for row in table.rows if row.members)
    assert series.entry.submission.name == "agent"
    assert [row.entry.submission.name for row in series.members] == sorted(
        (f"agent-seed{seed}" for seed in range(3)),
        key=lambda name: (-verify(submissions / PROTOCOL / name).score.success_rate, name),
    )
    scores = [verify(entry).score for entry in seeds]
    together = series.entry.score
    assert together.success_rate == pytest.approx(sum(each.success_rate for each in scores) / 3)
    assert together.mean_steps == pytest.approx(sum(each.mean_steps for each in scores) / 3)
    assert together.episodes == 300
    assert together.tasks == 100
    outcomes = [verify(entry).result.by_task(table.protocol) for entry in seeds]
    assert together.interval == two_level_interval([[each[task][0] for task in outcomes[0]] for each in outcomes])
    assert len(table.entries) == 4
    # The row links to the seeds' pages; the downloads have the row and each seed.
    build(submissions, tmp_path / "site")
    page = (tmp_path / "site" / BOARD).read_text()
    for seed in range(3):
        assert f"entries/{PROTOCOL}/agent-seed{seed}/index.html" in page
    rows = json.loads((tmp_path / "site" / "leaderboard.json").read_text())
    assert {row["name"]: row["series"] for row in rows} == {
        NAME: None,
        "agent": None,
        **{f"agent-seed{seed}": "agent" for seed in range(3)},
    }
    (row,) = (row for row in rows if row["seeds"] == 3)
    assert (row["success_rate"], row["low"], row["high"]) == (together.success_rate, *together.interval)
    low, high = (f"{100 * each:.1f}" for each in together.interval)
    assert f'<span class="interval">{low} to {high}</span>' in page


def test_nobody_adds_a_seed_to_the_agent_of_somebody_else(submissions: Path, tmp_path: Path) -> None:
    add(submissions, tmp_path / "0", 0, "agent-seed0")
    add(submissions, tmp_path / "1", 1, "agent-seed1")
    add(submissions, tmp_path / "2", 2, "agent-seed2", author="Somebody else")
    (table,) = standings(submissions)
    assert [len(row.members) for row in table.rows if row.members] == [2]
    assert "agent-seed2" in {row.entry.submission.name for row in table.rows}


def test_a_series_is_ranked_once_when_every_seed_was_checked(submissions: Path, tmp_path: Path) -> None:
    seeds = [add(submissions, tmp_path / str(seed), seed, f"agent-seed-{seed}") for seed in range(2)]
    digests = {f"{PROTOCOL}/{each.name}": verify(each).submission.trajectories_sha256 for each in seeds}
    badges = submissions.parent / BADGES_FILE
    badges.write_text(json.dumps({"audited": dict([*digests.items()][:1])}))
    assert not any(row.members for row in standings(submissions)[0].rows)  # one is ranked and one is not
    wanderer = {f"{PROTOCOL}/{NAME}": verify(submissions / PROTOCOL / NAME).submission.trajectories_sha256}
    badges.write_text(json.dumps({"audited": digests | wanderer}))
    (table,) = standings(submissions)
    assert [(row.rank, len(row.members)) for row in table.rows] == [(1, 0), (2, 2)]
    assert [row.rank for row in table.rows[1].members] == [2, 2]


# Kinds of tasks.


@pytest.mark.parametrize(
    ("entry", "headings"),
    [
        ("autoexplore/v1/bm25", {"Depth": "01234", "Repository": REPOSITORIES}),
        ("autoexplore-depth2/v1/oracle", {"Repository": REPOSITORIES}),
        ("dangerous-taxi-pickup-cities/v1/oracle", {}),
    ],
)
def test_success_by_kind_needs_neither_repositories_nor_games(entry: str, headings: dict[str, str]) -> None:
    result, protocol = read_ledger(LEDGER)[entry], load_protocol(entry.rpartition("/")[0])
    found = by_kind(result, protocol, kinds_of(protocol))
    assert {heading: tuple(each.kind for each in kinds) for heading, kinds in found.items()} == {
        heading: tuple(kinds) for heading, kinds in headings.items()
    }
    for kinds in found.values():
        assert sum(each.episodes for each in kinds) == len(result.outcomes)
        won = sum(each.success_rate * each.episodes for each in kinds)
        assert won == pytest.approx(result.success_rate * len(result.outcomes))


def test_types_of_household_tasks_are_told_from_their_ids() -> None:
    generated = read_ledger(LEDGER)["alfworld-generated/v1/expert"]
    protocol = load_protocol("alfworld-generated/v1")
    assert len(by_kind(generated, protocol, kinds_of(protocol))["Task type"]) == 6
    official = load_protocol("alfworld-unseen/v1")
    of_official = generated.model_copy(update={"outcomes": "1" * len(official.episodes)})
    kinds = by_kind(of_official, official, kinds_of(official))["Task type"]
    assert len(kinds) == 6
    assert {each.success_rate for each in kinds} == {1.0}


def test_entry_shows_success_by_kind(tmp_path: Path) -> None:
    protocol = "alfworld-generated/v1"
    evaluate(lambda view: view.admissible_commands[0], protocol, name="first", out=tmp_path / "run")
    pack(tmp_path / "run", name="first", out=tmp_path / "submissions")
    build(tmp_path / "submissions", tmp_path / "site")
    page = (tmp_path / "site" / "entries" / protocol / "first" / "index.html").read_text()
    assert "Success by task type" in page
    assert page.count("pick_heat_then_place_in_recep</td>") == 1


# Why episodes and commands fail.


def test_entry_shows_why_episodes_and_commands_fail_and_a_ledger_that_has_not_counted_shows_nothing(
    submissions: Path, entry: Path, tmp_path: Path, command: Callable[..., Finished]
) -> None:
    command("ledger", "--submissions", submissions)
    ledger, name = submissions.parent / LEDGER_FILE, f"{PROTOCOL}/{NAME}"
    counted = read_ledger(ledger)[name]
    assert counted == verify(entry, copies=True).result
    assert counted.failed_episodes is not None
    assert sum(counted.failed_episodes.values()) == counted.outcomes.count("0") > 0
    page = entry_page(submissions, tmp_path / "counted", name)
    for cause, count in {**counted.failed_episodes, **(counted.failed_commands or {})}.items():
        assert f">{cause}</td>" in page
        assert f">{count}</td>" in page
    assert "Why episodes fail" in page
    assert "Why commands fail" in page
    # As an earlier version noted it, on another day.
    content = json.loads(ledger.read_text())
    del content[name]["failed_episodes"], content[name]["failed_commands"]
    ledger.write_text(json.dumps(content | {name: content[name] | {"date": "2026-01-02", "package": "0.1"}}))
    assert "Why episodes fail" not in entry_page(submissions, tmp_path / "not", name)
    command("ledger", "--submissions", submissions)
    assert read_ledger(ledger)[name] == counted.model_copy(update={"date": "2026-01-02", "package": "0.1"})


def entry_page(submissions: Path, site: Path, name: str) -> str:
    build(submissions, site)
    return (site / "entries" / name / "index.html").read_text()


# Learning curves.


def curve_file(path: Path, rows: object) -> Path:
    path.write_text(json.dumps(rows))
    return path


def test_curve_is_packed_and_drawn(run_folder: Path, tmp_path: Path, command: Callable[..., Finished]) -> None:
    rows = [{"episodes": 16 * (n + 1), "success": n / 250, "stage": 0} for n in range(250)]
    file = curve_file(tmp_path / "curve.json", rows)
    points = read_curve(file)
    assert len(points) == 84  # means of three neighbours
    assert points[0] == (48, pytest.approx((0 + 1 + 2) / 750))
    assert points[-1][0] == 4000
    submissions = tmp_path / "submissions"
    packed = command("pack", run_folder, "--name", "learner", "--curve", file, "--out", submissions)
    assert packed.code == 0, packed.err
    assert verify(submissions / PROTOCOL / "learner").submission.track.curve == points
    build(submissions, tmp_path / "site")
    for page in (BOARD, f"entries/{PROTOCOL}/learner/index.html"):
        assert (tmp_path / "site" / page).read_text().count("<polyline") == 1


@pytest.mark.parametrize(
    ("rows", "says"),
    [
        ([{"episodes": 1}], r"0\.success: Field required"),
        ({"episodes": 1}, ": Input should be a valid array"),
        ([{"episodes": 5, "success": 0.5}, {"episodes": 5, "success": 0.6}], "more episodes at each point"),
        ([{"episodes": 5, "success": 0.5}, {"episodes": 6, "success": 1.5}], "less than or equal to 1"),
        ([{"episodes": 5, "success": 0.5}], "at least 2 items"),
    ],
)
def test_other_files_are_refused_as_curves(rows: object, says: str, run_folder: Path, tmp_path: Path) -> None:
    file = curve_file(tmp_path / "curve.json", rows)
    with pytest.raises(UsageError, match=says):
        pack(run_folder, name="learner", out=tmp_path / "submissions", track={"curve": read_curve(file)})
    assert not (tmp_path / "submissions").exists()


def test_names_in_pictures_are_text(submissions: Path) -> None:
    (row,) = standings(submissions)[0].rows
    assert learning_curves([row]) == ""
    stated = row.entry.submission.model_copy(update={"name": "<b>"})
    track = type("Track", (), {"curve": ((0, 0.0), (10, 1.0))})()
    named = stated.model_copy(update={"track": track})
    entry = type(row.entry)(named, row.entry.protocol, row.entry.result)
    picture = learning_curves([type(row)(**{**vars(row), "entry": entry})] * 2)
    assert "<b>" not in picture
    assert picture.count("&lt;b&gt;") == 4


# Tracks.


@pytest.mark.slow
@needs_chromium
def test_rows_are_chosen_by_track(submissions: Path, run_folder: Path, tmp_path: Path) -> None:
    second = tmp_path / "run"
    evaluate(lambda view: view.admissible_commands[0], PROTOCOL, name="second", out=second)
    pack(second, name="learned", out=submissions, parameters=1_700_000, track={"method": "rl", "reflection": True})
    build(submissions, tmp_path / "site")
    page = tmp_path / "site" / BOARD
    (table,) = standings(submissions)
    assert {row.entry.submission.name: row.tracks for row in table.rows} == {
        NAME: ("hand-written",),
        "learned": ("rl", "reflects", "up-to-10M"),
    }
    choose = "const t = document.getElementById('track'); t.value = 'rl'; t.dispatchEvent(new Event('change'));"
    shown = rendered(scripted(page, choose), tmp_path / "profile")
    hidden = re.findall(r'<tr data-group[^>]*data-tracks="([^"]*)"[^>]*hidden', shown)
    assert hidden == ["hand-written"]
    assert shown.count("<tr data-group") == 2


# The episodes that are shown.


@pytest.mark.parametrize(
    "entry", ["autoexplore-search/v1/bm25", "dangerous-taxi-pickup/v1/oracle", "alfworld-generated/v1/random"]
)
def test_a_page_shows_the_first_success_and_failure_of_each_kind_and_the_first_of_all(entry: str) -> None:
    result, protocol = read_ledger(LEDGER)[entry], load_protocol(entry.rpartition("/")[0])
    kinds = kinds_of(protocol)
    shown = shown_episodes(result, protocol, kinds)
    tasks = [episode.task_id for episode, _ in protocol.plays(len(result.outcomes) // len(protocol.episodes))]
    assert shown == sorted(set(shown))
    for outcome in "01":
        every = [number for number, each in enumerate(result.outcomes) if each == outcome]
        here = [number for number in shown if result.outcomes[number] == outcome]
        assert min(SHOWN, len(every)) <= len(here) <= 2 * SHOWN
        for kind in {each for number in every for each in kinds[tasks[number]].items()}:
            first = next(number for number in every if kind in kinds[tasks[number]].items())
            assert first in here
        assert here[:1] == every[:1]


def test_the_page_says_which_episodes_it_shows_and_the_command_shows_any_other(
    submissions: Path, entry: Path, tmp_path: Path, command: Callable[..., Finished]
) -> None:
    build(submissions, tmp_path / "site")
    page = (tmp_path / "site" / "entries" / PROTOCOL / NAME / "index.html").read_text()
    index = json.loads(re.findall(r'id="data">(.*?)</script>', page)[0])
    assert index["episodes"] == 100
    assert f"Shown are {len(index['index'])} of 100 episodes" in page
    assert "natlang-leaderboard show FOLDER NUMBER" in page
    recorded = read_trajectories(entry / TRAJECTORIES_FILE)
    number = next(each for each in range(1, 101) if each not in [shown for shown, *_ in index["index"]])
    code, lines, _ = command("show", entry, number)
    assert code == 0
    assert lines[0].startswith(f"Episode {number} of 100: {recorded[number - 1].task_id},")
    chosen = [line[2:].rpartition("   (")[0] for line in lines if line.startswith("> ")]
    assert chosen == list(recorded[number - 1].actions)
    for wrong in (0, 101):
        assert command("show", entry, wrong).err == [
            f"natlang-leaderboard: there is no episode {wrong}: {entry} has those from 1 to 100"
        ]
    missing = tmp_path / "nothing"
    assert command("show", missing, 1).err[0].startswith(f"natlang-leaderboard: {missing}: is no folder: name the")


@pytest.mark.slow
@needs_chromium
def test_a_link_to_an_episode_that_is_not_shown_says_how_to_see_it(submissions: Path, tmp_path: Path) -> None:
    build(submissions, tmp_path / "site")
    page = tmp_path / "site" / "entries" / PROTOCOL / NAME / "index.html"
    index = json.loads(re.findall(r'id="data">(.*?)</script>', page.read_text())[0])["index"]
    last = index[-1][0]
    hidden = next(each for each in range(1, 101) if each not in [number for number, *_ in index])
    shown = rendered(page, tmp_path / "profile", f"#episode={hidden}", wait=3_000)
    assert f"natlang-leaderboard show FOLDER {hidden} prints it" in shown
    assert '<p class="did">' not in shown
    shown = rendered(page, tmp_path / "profile", f"#episode={last}&step=1", wait=3_000)
    assert f'href="#episode={last}&amp;step=1"' in shown


# The game in the viewer.


@pytest.mark.slow
@needs_chromium
def test_viewer_shows_the_map_and_the_listed_commands(submissions: Path, entry: Path, tmp_path: Path) -> None:
    build(submissions, tmp_path / "site")
    seen = rendered(tmp_path / "site" / "entries" / PROTOCOL / NAME / "index.html", tmp_path / "profile", wait=3_000)
    protocol = load_protocol(PROTOCOL)
    env = protocol.make_env(render_mode="ansi")
    _, info = env.reset(options={"task_id": protocol.episodes[0].task_id})
    pictures = re.findall(r'<pre class="picture">(.*?)</pre>', seen, re.DOTALL)
    assert html.unescape(pictures[0]) == env.render()
    assert len(pictures) == seen.count('<p class="did">')
    lists = re.findall(r'<details class="listed">(.*?)</details>', seen, re.DOTALL)
    assert len(lists) == len(pictures)
    assert tuple(re.findall("<li[^>]*>(.*?)</li>", lists[0])) == info["admissible_commands"]


# Who can read it.

AXE = """axe.run().then((found) => {
  const said = document.createElement("pre");
  said.id = "axe";
  said.textContent = JSON.stringify([found.passes.length, found.violations.map((each) => [each.impact, each.id])]);
  document.body.append(said);
});"""


def accessibility(page: Path, profile: Path, dark: bool = False) -> tuple[int, list[tuple[str, str]]]:
    """Return how many of axe's rules a page passes, and the impact and name of those that it breaks."""
    axe = pytest.importorskip("axe_core_python", reason="axe is not installed: pip install -e '.[dev]'")
    script = (Path(axe.__file__).parent / "axe.min.js").read_text(encoding="utf-8")
    copy = scripted(page, f"{script}\n{AXE}")
    (said,) = re.findall(r'<pre id="axe">(.*?)</pre>', rendered(copy, profile, wait=20_000, dark=dark), re.DOTALL)
    copy.unlink()
    passes, broken = json.loads(html.unescape(said))
    return passes, [tuple(each) for each in broken]


@pytest.mark.slow
@needs_chromium
def test_axe_finds_nothing_serious(submissions: Path, tmp_path: Path) -> None:
    for seed in range(2):
        add(submissions, tmp_path / str(seed), seed, f"agent-seed{seed}")
    site, profile = tmp_path / "site", tmp_path / "profile"
    build(submissions, site)
    for page in ("index.html", BOARD, f"entries/{PROTOCOL}/{NAME}/index.html"):
        for dark in (False, True):
            passes, broken = accessibility(site / page, profile, dark)
            assert passes > 20, page
            assert [each for each in broken if each[0] in ("serious", "critical")] == [], page
    # The check can fail.
    bad = site / "bad.html"
    bad.write_text((site / "index.html").read_text().replace("</main>", '<img src="x.png"></main>'))
    assert ("critical", "image-alt") in accessibility(bad, profile)[1]


def test_entry_shows_how_a_model_was_asked_and_what_it_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    submissions = tmp_path / "submissions"
    with chat_server(lambda request: "move south") as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        evaluate(load_tools("tool call@3?seed=7"), PROTOCOL, name="model", out=tmp_path / "run")
        evaluate(load_tools("nothing"), PROTOCOL, name="mute", out=tmp_path / "mute")
    pack(tmp_path / "run", name="model", out=submissions)
    pack(tmp_path / "mute", name="mute", out=submissions)
    page = entry_page(submissions, tmp_path / "site", f"{PROTOCOL}/model")
    for fact in ("Asked with form", "tools", "Asked with seed", "Tokens written", "tool call"):
        assert fact in page
    mute = (tmp_path / "site" / "entries" / PROTOCOL / "mute" / "index.html").read_text()
    assert "not read 100 (no command 100); 100% of losses unreadable" in mute
