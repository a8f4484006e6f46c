"""The tables, the pages, what strangers wrote on them, and both in a real browser."""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from leaderboard.baselines import baselines, make_baselines
from leaderboard.pack import pack
from leaderboard.schema import SUBMISSION_FILE
from leaderboard.site import build
from leaderboard.standings import RERUN_FILE, standings
from leaderboard.verify import verify
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import AgentInput, Decision, evaluate, load_protocol, protocol_names
from natlang_envs.evaluation.agents import BUILT_IN
from natlang_envs.evaluation.runner import TRAJECTORIES_FILE
from natlang_envs.files import whole_folder
from tests.archives import needs_repositories
from tests.leaderboard.conftest import NAME, Finished
from tests.leaderboard.forge import PROTOCOL, Forged

Command = Callable[..., Finished]
COMMITTED = Path(__file__).parents[2] / "leaderboard" / "submissions"
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
PAYLOAD = "</script><img src=x onerror=\"document.title='taken'\"><!--<script>'&quot;{{ 7*7 }}"


def files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


all_repositories = needs_repositories(*protocol_names())  # every entry is replayed


def add(submissions: Path, run: Path, player: Callable[[AgentInput], str | Decision], name: str, **facts: str) -> Path:
    """Evaluate an agent and pack the run."""
    evaluate(player, PROTOCOL, name=facts.pop("agent", name), out=run)
    return pack(run, name=name, out=submissions, **facts)


def say(reflection: str) -> Callable[[AgentInput], Decision]:
    """Return an agent that says the same each time and loses at the second step at the latest."""
    return lambda view: Decision("pick up passenger" if not view.path else "move", reflection)


# Entries and tables.


@all_repositories
def test_committed_baselines_hold_and_are_what_the_agents_do_today(tmp_path: Path) -> None:
    again = make_baselines(tmp_path / "submissions")
    assert [folder.relative_to(tmp_path / "submissions").as_posix() for folder in again] == [
        "/".join(pair) for pair in baselines()
    ]
    for folder in again:
        path = folder.relative_to(tmp_path / "submissions")
        committed = verify(COMMITTED / path)
        made = verify(folder)
        assert made.trajectories == committed.trajectories, path
        run = made.submission.run
        stated = {"run": run, "trajectories_sha256": made.submission.trajectories_sha256}
        assert made.submission == committed.submission.model_copy(update=stated), path


@all_repositories
def test_committed_rerun_file_is_current() -> None:
    rows = [row for table in standings(COMMITTED) for row in table.rows]
    assert {f"{row.entry.submission.protocol}/{row.entry.submission.name}" for row in rows if row.rerun} >= {
        "/".join(pair) for pair in baselines()
    }


@all_repositories
def test_baselines_made_again_replace_those_that_are_there(tmp_path: Path) -> None:
    submissions = tmp_path / "submissions"
    first = make_baselines(submissions)
    (first[0] / TRAJECTORIES_FILE).write_bytes(b"")
    make_baselines(submissions)
    assert all(row.rerun for table in standings(submissions) for row in table.rows)


def test_rows_are_sorted_ranked_and_marked(submissions: Path, tmp_path: Path) -> None:
    oracle = BUILT_IN["oracle"]()
    add(submissions, tmp_path / "a", oracle, "best")
    add(submissions, tmp_path / "b", lambda view: view.admissible_commands[0], "south")
    add(submissions, tmp_path / "c", lambda view: view.admissible_commands[1], "north")
    add(submissions, tmp_path / "d", oracle, "also-best")
    (table,) = standings(submissions)
    shown = [(row.rank, row.entry.submission.name, row.overlaps) for row in table.rows]
    names = [name for _, name, _ in shown]
    assert names[:3] == ["also-best", "best", NAME]
    assert shown[:3] == [(1, "also-best", False), (1, "best", True), (3, NAME, False)]
    assert [(rank, overlaps) for rank, _, overlaps in shown[3:]] == [(4, False), (4, True)]
    assert set(names[3:]) == {"north", "south"}
    returns = [row.entry.score.mean_return for row in table.rows]
    assert returns == sorted(returns, reverse=True)


def test_rerun_file_gives_the_tier_and_must_be_current(submissions: Path, entry: Path) -> None:
    assert [row.rerun for table in standings(submissions) for row in table.rows] == [False]
    path = submissions.parent / RERUN_FILE
    digest = verify(entry).submission.trajectories_sha256
    path.write_text(json.dumps({f"{PROTOCOL}/{NAME}": digest}))
    assert [row.rerun for table in standings(submissions) for row in table.rows] == [True]
    for content, says in (
        ({f"{PROTOCOL}/{NAME}": "0" * 64}, "another recording"),
        ({f"{PROTOCOL}/nobody": digest}, "no entry"),
        ({f"{PROTOCOL}/{NAME}": True}, "rerun.json: "),
        ([], "rerun.json: "),
    ):
        path.write_text(json.dumps(content))
        with pytest.raises(UsageError, match=says):
            standings(submissions)


def test_entry_in_the_wrong_folder_is_refused(submissions: Path, entry: Path) -> None:
    entry.rename(entry.with_name("oracle"))
    with pytest.raises(UsageError, match=f"says {PROTOCOL}/{NAME}: move it to"):
        standings(submissions)


# Building.


def test_build_prints_the_index_and_is_the_same_twice(submissions: Path, tmp_path: Path, command: Command) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    assert command("build", "--submissions", submissions, "--out", one) == (0, [str(one / "index.html")], [])
    build(submissions, two)
    assert files(one) == files(two)
    assert set(files(one)) == {"index.html"} | {
        f"entries/{PROTOCOL}/{NAME}/{file}" for file in ("index.html", SUBMISSION_FILE, TRAJECTORIES_FILE)
    }
    # What is offered for download verifies.
    downloads = tmp_path / "downloads"
    downloads.mkdir()
    for file in (SUBMISSION_FILE, TRAJECTORIES_FILE):
        shutil.copy(one / "entries" / PROTOCOL / NAME / file, downloads)
    assert verify(downloads).score == verify(submissions / PROTOCOL / NAME).score


def test_page_shows_the_derived_numbers(submissions: Path, entry: Path, tmp_path: Path) -> None:
    score = verify(entry).score
    build(submissions, tmp_path / "site")
    for page in ("index.html", f"entries/{PROTOCOL}/{NAME}/index.html"):
        text = (tmp_path / "site" / page).read_text()
        assert f"{100 * score.success_rate:.1f}" in text
        assert f"{100 * score.interval.low:.1f} to {100 * score.interval.high:.1f}" in text
        assert f"{score.mean_return:.2f}" in text
        assert f"{score.mean_regret:.2f}" in text
        assert "not prove who" in text or "not who chose them" in text
        assert not re.search(r"""(?:src|href)=["']?(?:https?:)?//""", text)  # nothing is loaded from elsewhere


def test_broken_entry_fails_the_build_and_leaves_the_site(submissions: Path, tmp_path: Path, command: Command) -> None:
    site = tmp_path / "site"
    build(submissions, site)
    before = files(site)
    other = submissions / PROTOCOL / "other"
    shutil.copytree(submissions / PROTOCOL / NAME, other)
    forged = Forged(other)
    forged.facts["name"] = "other"
    forged.episodes[0]["rewards"][-1] += 1
    forged.save(redigest=True)
    refused = command("build", "--submissions", submissions, "--out", site)
    assert (refused.code, refused.out, len(refused.err)) == (2, [], 1)
    assert f"{other}: trajectories.jsonl.gz, line 1" in refused.err[0]
    assert files(site) == before
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


def test_text_of_strangers_adds_no_tag(tmp_path: Path) -> None:
    harmless, attack = site_of_stranger(tmp_path, "harmless"), site_of_stranger(tmp_path, PAYLOAD)
    for page in ("index.html", f"entries/{PROTOCOL}/stranger/index.html"):
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
    assert json.loads(data)[0]["reflections"][0] == PAYLOAD
    assert "7*7" in page


# A real browser.

needs_chromium = pytest.mark.skipif(CHROMIUM is None, reason="chromium is not installed: apt-get install chromium")


def rendered(page: Path, profile: Path) -> str:
    """Return the document of a page after its scripts ran in headless Chromium."""
    assert CHROMIUM is not None
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"]
    flags += ["--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}"]
    ran = subprocess.run(
        [CHROMIUM, *flags, "--dump-dom", page.as_uri()], capture_output=True, text=True, timeout=60, check=True
    )
    return ran.stdout


def with_click(page: Path, selector: str) -> Path:
    """Return a copy of a page that presses a button after it has loaded (without its policy, which would forbid it)."""
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page.read_text(encoding="utf-8"))
    press = f"document.querySelector({json.dumps(selector)}).click()"
    copy = page.with_name("clicked.html")
    copy.write_text(text.replace("</body>", f"<script>{press}</script></body>"), encoding="utf-8")
    return copy


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

    index = rendered(site / "index.html", profile)
    assert text_of(index, "title") == ["natlang_envs leaderboard"]
    assert len(text_of(index, "button")) == 10
    agents = [text.removesuffix(PAYLOAD) for text in text_of(index, "agent")]
    assert agents == [NAME, "stranger"]
    resorted = rendered(with_click(site / "index.html", "th:nth-child(2) button"), profile)
    assert [text.removesuffix(PAYLOAD) for text in text_of(resorted, "agent")] == ["stranger", NAME]

    first, second = verify(entry).trajectories[:2]
    observed = observations(first.task_id, first.actions)
    viewer = rendered(site / "entries" / PROTOCOL / NAME / "index.html", profile)
    assert text_of(viewer, "seen") == observed
    assert text_of(viewer, "said") == list(first.reflections)
    assert [text.split("reward ") for text in text_of(viewer, "did")] == [
        [action, f"{reward:g}"] for action, reward in zip(first.actions, first.rewards, strict=True)
    ]
    following = rendered(with_click(site / "entries" / PROTOCOL / NAME / "index.html", "#after"), profile)
    assert text_of(following, "seen") == observations(second.task_id, second.actions)

    attacked = rendered(site / "entries" / PROTOCOL / "stranger" / "index.html", profile)
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
