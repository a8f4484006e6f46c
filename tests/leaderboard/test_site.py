"""The tables, the pages, what strangers wrote on them, and both in a real browser."""

from __future__ import annotations

import base64
import dataclasses
import gzip
import json
import re
import shutil
from collections.abc import Callable
from html.parser import HTMLParser
from itertools import takewhile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.pack import pack
from leaderboard.schema import SUBMISSION_FILE
from leaderboard.site import build
from leaderboard.site.episodes import shared_length
from leaderboard.site.plots import size_against_success
from leaderboard.standings import standings
from leaderboard.standings.badges import ADJUDICATIONS_FILE, BADGES_FILE
from leaderboard.standings.rows import Row
from leaderboard.verify import verify
from natlang_envs.env import unwrap
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import AgentInput, Decision, evaluate, load_protocol
from natlang_envs.evaluation.agents import BUILT_IN, Agent
from natlang_envs.evaluation.runs import TRAJECTORIES_FILE
from natlang_envs.files import whole_folder
from natlang_envs.trajectory import read_trajectories
from tests.chromium import needs_chromium, rendered, scripted
from tests.leaderboard.conftest import NAME, Finished
from tests.leaderboard.forge import PROTOCOL, Forged

Command = Callable[..., Finished]
COMMITTED = Path(__file__).parents[2] / "leaderboard" / "submissions"
BOARD = f"boards/{PROTOCOL}/index.html"
PAYLOAD = "</script><img src=x onerror=\"document.title='taken'\"><!--<script>'&quot;{{ 7*7 }}"


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def add(submissions: Path, run: Path, player: Agent, name: str, **facts: Any) -> Path:
    """Evaluate an agent and pack the run."""
    evaluate(player, PROTOCOL, name=facts.pop("agent", name), out=run)
    return pack(run, name=name, out=submissions, **facts)


def say(reflection: str) -> Callable[[AgentInput], Decision]:
    """Return an agent that says the same each time and loses at the second step at the latest."""
    return lambda view: Decision("pick up passenger" if not view.path else "move", reflection)


# Entries and tables.


def planner(reflection: str | None) -> Callable[[AgentInput], Decision]:
    """Return an agent that plays the plan without being handed the environment."""
    env = load_protocol(PROTOCOL).make_env()
    tasks = {env.reset(options={"task_id": each.task_id})[0]: each.task_id for each in load_protocol(PROTOCOL).episodes}
    starts: dict[int, str] = {}

    def play(view: AgentInput) -> Decision:
        if not view.path:
            starts[id(view.rng)] = tasks[view.observation]
        env.reset(options={"task_id": starts[id(view.rng)]})
        for step in view.path:
            env.step(step.action)
        return Decision(unwrap(env).reference()[0], reflection)

    return play


def give_badges(submissions: Path, *names: str, kind: str = "audited") -> None:
    digests = {
        f"{PROTOCOL}/{name}": verify(submissions / PROTOCOL / name).submission.trajectories_sha256 for name in names
    }
    file = submissions.parent / BADGES_FILE
    before = json.loads(file.read_text()) if file.exists() else {}
    file.write_text(json.dumps({**before, kind: digests}))


def test_rows_are_sorted_ranked_and_marked(submissions: Path, tmp_path: Path) -> None:
    add(submissions, tmp_path / "a", planner(None), "best")
    add(submissions, tmp_path / "b", lambda view: view.admissible_commands[0], "south")
    add(submissions, tmp_path / "c", lambda view: view.admissible_commands[1], "north")
    add(submissions, tmp_path / "d", BUILT_IN["oracle"](), "oracle")
    add(submissions, tmp_path / "e", planner("I am new here."), "also-best")
    add(submissions, tmp_path / "f", BUILT_IN["random"](), "a-human-expert", reference=True)
    give_badges(submissions, "best", NAME, "south", "north")
    give_badges(submissions, "oracle", kind="rerun")
    (table,) = standings(submissions)
    shown = [(row.rank, row.entry.submission.name, row.tied, row.group) for row in table.rows]
    assert shown[:2] == [(1, "best", False, "ranked"), (2, NAME, False, "ranked")]
    assert [(rank, tied) for rank, _, tied, _ in shown[2:4]] == [(3, False), (3, True)]
    assert {name for _, name, _, _ in shown[2:4]} == {"north", "south"}
    # The oracle's actions under another name are not accused: they are not ranked until they are audited.
    assert [each[1::2] for each in shown[4:]] == [
        ("also-best", "unranked"),
        ("a-human-expert", "unranked"),  # a reference line is one that maintainers ran
        ("oracle", "reference"),
    ]
    assert "not audited" in table.rows[4].reason
    assert "every action is that of" in table.rows[4].reason
    assert "no reference line" in table.rows[5].reason
    ranked = [row.entry.score.mean_return for row in table.rows if row.rank]
    assert ranked == sorted(ranked, reverse=True)


def test_nothing_is_ranked_before_its_chooser_was_checked(submissions: Path, tmp_path: Path) -> None:
    # The best of many tries replays as well as any other run; so does one run that is called deterministic.
    (table,) = standings(submissions)
    assert [(row.rank, row.group) for row in table.rows] == [(None, "unranked")]
    build(submissions, tmp_path / "site")
    page = (tmp_path / "site" / BOARD).read_text()
    assert "Unranked: not audited</span>" in page
    assert "<b>Not audited</b>: replay proves what the actions earn, not who chose them." in page


@pytest.mark.parametrize(("kind", "field"), [("rerun", "rerun"), ("audited", "audited")])
def test_badges_rank_a_row_and_must_be_current(kind: str, field: str, submissions: Path, entry: Path) -> None:
    assert [getattr(row, field) for table in standings(submissions) for row in table.rows] == [False]
    path = submissions.parent / BADGES_FILE
    digest = verify(entry).submission.trajectories_sha256
    give_badges(submissions, NAME, kind=kind)
    assert [(getattr(row, field), row.rank) for table in standings(submissions) for row in table.rows] == [(True, 1)]
    for content, says in (
        ({kind: {f"{PROTOCOL}/{NAME}": "0" * 64}}, "another recording"),
        ({kind: {f"{PROTOCOL}/nobody": digest}}, "no entry"),
        ({kind: {f"{PROTOCOL}/{NAME}": True}}, "badges.json: "),
        ([], "badges.json: "),
    ):
        path.write_text(json.dumps(content))
        with pytest.raises(UsageError, match=says):
            standings(submissions)


def test_log_of_corrections_changes_rows_and_not_recordings(submissions: Path, entry: Path) -> None:
    before = files(submissions)
    give_badges(submissions, NAME)
    path = submissions.parent / ADJUDICATIONS_FILE
    line = {
        "date": "2026-11-23",
        "entry": f"{PROTOCOL}/{NAME}",
        "action": "sampling",
        "reason": "It drew its commands.",
    }
    path.write_text(json.dumps([line]))
    (row,) = (row for table in standings(submissions) for row in table.rows)
    assert (row.sampling, row.rank, row.notes[0].reason) == (True, 1, "It drew its commands.")
    path.write_text(json.dumps([{**line, "action": "unrank"}]))
    (row,) = (row for table in standings(submissions) for row in table.rows)
    assert row.rank is None
    assert "taken out of the ranking on 2026-11-23: It drew its commands." in row.reason
    path.write_text(json.dumps([{**line, "action": "remove"}]))
    with pytest.raises(UsageError, match="holds no entry"):
        standings(submissions)
    for wrong in ({**line, "action": "delete"}, {**line, "reason": "no"}, {**line, "entry": "nobody"}):
        path.write_text(json.dumps([wrong]))
        with pytest.raises(UsageError, match=ADJUDICATIONS_FILE):
            standings(submissions)
    assert files(submissions) == before


def test_six_sampled_runs_are_corrected_by_the_log() -> None:
    log = json.loads((COMMITTED.parent / ADJUDICATIONS_FILE).read_text())
    corrected = {each["entry"] for each in log if each["action"] == "sampling"}
    drawn = {
        path.parent.relative_to(COMMITTED).as_posix()
        for path in COMMITTED.rglob(SUBMISSION_FILE)
        if ", drawn" in json.loads(path.read_text())["run"]["agent"]
    }
    assert len(drawn) == 6
    assert corrected == drawn


# Building.


def test_build_prints_the_index_and_is_the_same_twice(submissions: Path, tmp_path: Path, command: Command) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert command("build", "--submissions", submissions, "--out", one, "--no-references") == (
        0,
        [str(one / "index.html")],
        [],
    )
    build(submissions, two)
    assert files(one) == files(two)
    board = {f"boards/{PROTOCOL}/{file}" for file in ("rows.csv", "table.tex", "table.md", "cite.bib")}
    assert set(files(one)) == board | {"index.html", BOARD, "leaderboard.csv", "leaderboard.json"} | {
        f"entries/{PROTOCOL}/{NAME}/{file}"
        for file in ("index.html", SUBMISSION_FILE, TRAJECTORIES_FILE, "episodes.js")
    }
    # What is offered for download verifies.
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    for file in (SUBMISSION_FILE, TRAJECTORIES_FILE):
        shutil.copy(one / "entries" / PROTOCOL / NAME / file, downloads)
    assert verify(downloads).score == verify(submissions / PROTOCOL / NAME).score


def test_every_build_has_reference_lines(submissions: Path, tmp_path: Path, command: Command) -> None:
    assert command("build", "--submissions", submissions, "--out", tmp_path / "site").code == 0
    rows = json.loads((tmp_path / "site" / "leaderboard.json").read_text())
    assert {row["name"]: (row["group"], row["rank"]) for row in rows} == {
        NAME: ("unranked", None),
        "random": ("ranked", 1),
        **dict.fromkeys(("oracle", "random-legal"), ("reference", None)),
    }
    assert (tmp_path / "site" / "entries" / PROTOCOL / "oracle" / "index.html").exists()


def test_page_shows_the_derived_numbers(submissions: Path, entry: Path, tmp_path: Path) -> None:
    score = verify(entry).score
    build(submissions, tmp_path / "site")
    for page in (BOARD, f"entries/{PROTOCOL}/{NAME}/index.html"):
        text = (tmp_path / "site" / page).read_text()
        assert f"{100 * score.success_rate:.1f}" in text
        assert f"{100 * score.interval.low:.1f} to {100 * score.interval.high:.1f}" in text
        assert f"{score.mean_return:.2f}" in text
        assert f"{score.mean_regret:.2f}" in text
        assert "not prove who" in text or "not who chose them" in text
        assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", text)  # nothing is loaded from elsewhere


def test_broken_entry_is_left_out_and_the_board_says_why(submissions: Path, tmp_path: Path, command: Command) -> None:
    site = tmp_path / "site"
    other = submissions / PROTOCOL / "other"
    shutil.copytree(submissions / PROTOCOL / NAME, other)
    forged = Forged(other)
    forged.facts["name"] = "other"
    forged.episodes[0]["rewards"][-1] += 1
    forged.save(redigest=True)
    built = command("build", "--submissions", submissions, "--out", site)
    assert (built.code, built.err) == (0, [])
    page = (site / "boards" / PROTOCOL / "index.html").read_text()
    assert "is left out: trajectories.jsonl.gz, line 1" in page
    assert not (site / "entries" / PROTOCOL / "other").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["site", "submissions"]


def test_new_build_replaces_the_whole_site(submissions: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    build(submissions, site)
    (site / "entries" / "old").mkdir()
    build(submissions, site)
    assert not (site / "entries" / "old").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["site", "submissions"]


def test_build_leaves_folders_alone_that_are_no_site(submissions: Path, tmp_path: Path, command: Command) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.tex").write_text("x")
    (tmp_path / "file").write_text("x")
    for out in (home, tmp_path / "file"):
        refused = command("build", "--submissions", submissions, "--out", out)
        assert (refused.code, len(refused.err)) == (2, 1)
        assert "choose another --out" in refused.err[0]
    assert files(home) == {"thesis.tex": b"x"}


def test_no_entry_is_refused(tmp_path: Path, command: Command) -> None:
    refused = command("build", "--submissions", tmp_path / "none", "--out", tmp_path / "site")
    assert refused.code == 2
    assert "holds no entry: make one with" in refused.err[0]


def test_folder_is_written_whole_or_not_at_all(tmp_path: Path) -> None:
    target = tmp_path / "target"
    with whole_folder(target) as folder:
        (folder / "a").write_text("1")

    def fail(error: Exception, replace: bool) -> None:
        with whole_folder(target, replace=replace) as folder:
            (folder / "b").write_text("2")
            raise error

    with pytest.raises(RuntimeError):
        fail(RuntimeError("interrupted"), replace=True)
    with pytest.raises(UsageError, match="cannot be written"):
        fail(OSError("disk full"), replace=True)
    with pytest.raises(UsageError, match="already exists"), whole_folder(target):
        pass
    assert files(tmp_path) == {"target/a": b"1"}
    assert [path.name for path in tmp_path.iterdir()] == ["target"]


# What strangers wrote.


class Tags(HTMLParser):
    """Collects the tags of a page, with the names of their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, tuple[str, ...]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, tuple(name for name, _ in attrs)))


def tags(page: Path) -> list[tuple[str, tuple[str, ...]]]:
    parser = Tags()
    parser.feed(page.read_text(encoding="utf-8"))
    return parser.found


def site_of_stranger(tmp_path: Path, text: str) -> Path:
    """Build the site of one entry in which every free text is `text`."""
    folder = tmp_path / str(len(text))
    facts = dict.fromkeys(("description", "contact", "disclosure", "model", "agent"), text)
    entry = add(folder / "submissions", folder / "run", say(text), "stranger", **facts)
    forged = Forged(entry)
    forged.facts["authors"] = [text]
    forged.facts["run"].update(hardware=text, versions={text: text})
    forged.save(redigest=True)
    build(folder / "submissions", folder / "site")
    return folder / "site"


def episodes_of(page: Path) -> list[dict[str, Any]]:
    """Return what the script of an entry's page holds, which is nothing but one call with base64."""
    (packed,) = re.fullmatch(r'pieces\("([A-Za-z0-9+/=]+)"\);\n', (page / "episodes.js").read_text()).groups()  # type: ignore[union-attr]
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_text_of_strangers_adds_no_tag(tmp_path: Path) -> None:
    harmless, attack = site_of_stranger(tmp_path, "harmless"), site_of_stranger(tmp_path, PAYLOAD)
    for page in ("index.html", BOARD, f"entries/{PROTOCOL}/stranger/index.html"):
        assert tags(attack / page) == tags(harmless / page)
        text = (attack / page).read_text()
        assert "<img" not in text
        assert (
            text.count("<script")
            == text.count("</script>")
            == tags(harmless / page).count(("script", ())) + (page != "index.html")
        )
    page = (attack / "entries" / PROTOCOL / "stranger" / "index.html").read_text()
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert set(json.loads(data)) == {"episodes", "index"}
    assert episodes_of(attack / "entries" / PROTOCOL / "stranger")[0]["reflections"][0] == PAYLOAD
    assert "7*7" in page


# A real browser.


def with_click(page: Path, selector: str) -> Path:
    """Return a copy of a page that presses a button after it has loaded."""
    return scripted(page, f"document.querySelector({json.dumps(selector)}).click()")


class Text(HTMLParser):
    """Collects the text of each element of some class or tag."""

    def __init__(self, wanted: str) -> None:
        super().__init__()
        self._wanted = wanted
        self._open: list[str] = []
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._open:
            self._open.append(tag)
        elif self._wanted in (tag, *(dict(attrs).get("class") or "").split()):
            self._open = [tag]
            self.found.append("")

    def handle_endtag(self, tag: str) -> None:
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data: str) -> None:
        if self._open:
            self.found[-1] += data


def text_of(document: str, wanted: str) -> list[str]:
    parser = Text(wanted)
    parser.feed(document)
    return parser.found


@needs_chromium
def test_table_and_viewer_work_in_a_browser(submissions: Path, entry: Path, tmp_path: Path) -> None:
    add(submissions, tmp_path / "run", say(PAYLOAD), "stranger", description=PAYLOAD)
    site = tmp_path / "site"
    build(submissions, site)
    profile = tmp_path / "profile"

    overview = rendered(site / "index.html", profile)
    assert text_of(overview, "title") == ["natlang_envs leaderboard"]
    assert f'href="boards/{PROTOCOL}/index.html"' in overview
    index = rendered(site / BOARD, profile)
    assert text_of(index, "title") == [f"{PROTOCOL}, natlang_envs leaderboard"]
    assert len(text_of(index, "button")) == 11
    why = "Unranked: not audited"
    assert text_of(index, "agent") == [f"{NAME}{why}hand-written ", f"stranger{PAYLOAD}{why}hand-written "]
    resorted = rendered(with_click(site / BOARD, "th:nth-child(2) button"), profile)
    assert text_of(resorted, "agent") == [f"stranger{PAYLOAD}{why}hand-written ", f"{NAME}{why}hand-written "]

    first, second = read_trajectories(entry / TRAJECTORIES_FILE)[:2]
    observed = observations(first.task_id, first.actions)
    viewer = rendered(site / "entries" / PROTOCOL / NAME / "index.html", profile, wait=3_000)
    assert text_of(viewer, "seen") == observed
    assert text_of(viewer, "said") == list(first.reflections)
    assert [text.split("reward ") for text in text_of(viewer, "did")] == [
        [action, f"{reward:g}"] for action, reward in zip(first.actions, first.rewards, strict=True)
    ]
    following = rendered(with_click(site / "entries" / PROTOCOL / NAME / "index.html", "#after"), profile, wait=3_000)
    assert text_of(following, "seen") == observations(second.task_id, second.actions)

    # Columns can be put away, and two entries be compared task by task.
    narrower = rendered(with_click(site / BOARD, "#columns label:nth-of-type(3) input"), profile)
    assert narrower.count("away") == index.count("away") + 3
    compared = rendered(site / BOARD, profile, f"#compare=stranger&with={NAME}")
    said = dict(each.split(": ") for each in text_of(compared, "summary") if ": " in each)
    wins = sum(each.success for each in read_trajectories(entry / TRAJECTORIES_FILE))
    assert int(said[f"{NAME} does better"]) + int(said["Both win"]) == wins
    assert sum(map(int, said.values())) == len(read_trajectories(entry / TRAJECTORIES_FILE))
    assert f"entries/{PROTOCOL}/{NAME}/index.html#episode=" in compared

    attacked = rendered(site / "entries" / PROTOCOL / "stranger" / "index.html", profile, wait=3_000)
    assert text_of(attacked, "title") == [f"stranger on {PROTOCOL}"]
    assert text_of(attacked, "said")[0] == PAYLOAD
    assert "<img" not in attacked


def observations(task_id: str, actions: tuple[str, ...]) -> list[str]:
    env = load_protocol(PROTOCOL).make_env()
    texts = [env.reset(options={"task_id": task_id})[0]]
    return texts + [env.step(action)[0] for action in actions]


def test_score_has_no_field_in_a_submission(entry: Path) -> None:
    """The schema has no place for what must be derived."""
    verified = verify(entry)
    stated = set(verified.submission.model_dump()) | set(verified.submission.run.model_dump())
    assert not stated & {each.name for each in dataclasses.fields(verified.score)}


def test_sizes_are_drawn_where_two_rows_state_them(submissions: Path, entry: Path, tmp_path: Path) -> None:
    (table,) = standings(submissions)
    (row,) = table.rows
    assert size_against_success([row]) == ""

    def sized(parameters: int, name: str) -> Row:
        submission = row.entry.submission.model_copy(update={"parameters": parameters, "name": name})
        return dataclasses.replace(row, entry=dataclasses.replace(row.entry, submission=submission))

    picture = size_against_success([sized(1_000_000, "<b>"), sized(135_000_000, "larger"), sized(0, "none")])
    assert picture.count("<circle") == 2
    assert "&lt;b&gt;: " in picture
    assert "<b>" not in picture
    assert "1 million" in picture


@given(st.text(), st.text(), st.text())
def test_what_texts_share_is_found_by_halving(shared: str, one: str, other: str) -> None:
    first, second = shared + one, shared + other
    alike = takewhile(lambda pair: pair[0] == pair[1], zip(first, second, strict=False))
    assert shared_length(first, second) == len(list(alike)) >= len(shared)
