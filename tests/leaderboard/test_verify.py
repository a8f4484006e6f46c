"""An entry that is what the environment does holds; anything else is refused in one line, whatever was recomputed."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.copies import CopiedEntry
from leaderboard.pack import pack
from leaderboard.schema import MAX_SUBMISSION_BYTES, SUBMISSION_FILE, make_submission
from leaderboard.verify import MAX_TRAJECTORIES_BYTES, check, sha256, verify
from natlang_envs.errors import UsageError
from natlang_envs.evaluation import Protocol, evaluate, load_agent, load_protocol
from natlang_envs.evaluation.runner import score_run
from natlang_envs.evaluation.runs import RUN_FILE, TRAJECTORIES_FILE, read_run
from natlang_envs.trajectory import (
    MAX_FILE_BYTES,
    MAX_LINE_BYTES,
    Trajectory,
    read_trajectories,
    write_trajectories,
)
from tests.leaderboard.conftest import Finished
from tests.leaderboard.forge import FORGERIES, NOT_REHASHED, PROTOCOL, Forged

Command = Callable[..., Finished]


def only_line(finished: Finished, entry: Path) -> str:
    """Check that a command refused an entry in one line, and return the line without its beginning."""
    assert finished.code == 2
    assert finished.out == []
    (line,) = finished.err
    start = f"natlang-leaderboard: {entry}: "
    assert line.startswith(start), line
    assert line.isprintable(), line
    assert len(line) < 1_000
    return line.removeprefix(start)


def test_entry_holds_with_the_score_of_its_run(entry: Path, run_folder: Path) -> None:
    verified = verify(entry)
    _, recorded = read_run(run_folder)
    assert verified.score == score_run(load_protocol(PROTOCOL), recorded)
    assert 0.4 < verified.score.success_rate < 0.95  # both kinds of episodes are there to be forged
    assert read_trajectories(entry / TRAJECTORIES_FILE) == recorded
    assert verified.result.outcomes == "".join(str(int(each.success)) for each in recorded)
    assert verified.submission.run.tokens == 7 * sum(len(each.actions) for each in recorded)


def test_command_prints_what_holds_and_what_does_not(entry: Path, tmp_path: Path, command: Command) -> None:
    shown = command("verify", entry)
    assert (shown.code, shown.err) == (0, [])
    assert shown.out[0].startswith(f"wanderer on {PROTOCOL}: success ")
    assert "95% interval" in shown.out[0]
    broken = tmp_path / "broken"
    shutil.copytree(entry, broken)
    (broken / TRAJECTORIES_FILE).unlink()
    both = command("verify", broken, tmp_path / "nowhere", entry)
    assert both.code == 2
    assert both.out == shown.out
    assert [line.split(": ")[1] for line in both.err] == [str(broken), str(tmp_path / "nowhere")]


DIGESTS = ("nothing", "sha256", "every digest")


def _forged(forgery: Any, recomputed: str) -> Any:
    """Return a forgery, as slow where one that recomputes more is refused, too: a digest that does not fit says so."""
    best = recomputed == DIGESTS[-2 if forgery in NOT_REHASHED else -1] or forgery is FORGERIES[0]
    name = f"{forgery.__name__}, {recomputed} recomputed"
    return pytest.param(forgery, recomputed, id=name, marks=() if best else pytest.mark.slow)


FORGED = [
    _forged(forgery, recomputed)
    for forgery in FORGERIES
    for recomputed in DIGESTS
    if recomputed != DIGESTS[-1] or forgery not in NOT_REHASHED
]


@pytest.mark.parametrize(("forgery", "recomputed"), FORGED)
def test_forgery_is_refused(forgery: Callable[[Forged], None], recomputed: str, entry: Path, command: Command) -> None:
    forged = Forged(entry)
    forgery(forged)
    if recomputed == "every digest":
        forged.rehash()
    forged.save(redigest=recomputed != "nothing")
    problem = only_line(command("verify", entry), entry)
    stated = forged.facts["trajectories_sha256"]
    if sha256((entry / TRAJECTORIES_FILE).read_bytes()) != stated and "submission.json: " not in problem:
        assert "SHA-256" in problem
    elif recomputed != "nothing":
        assert "SHA-256" not in problem


@pytest.mark.parametrize(
    ("forgery", "says"),
    [
        ("change_action", "the reward of step"),
        ("change_reward", "the environment gives -1"),
        ("claim_success", "success is True, the environment gives False"),
        ("drop_episode", "seed 3, run 0) is missing; it is number 4 of the protocol"),
        ("double_episode", "line 4: the episode (task"),
        ("swap_lines", "line 4: the episode (task"),
        ("change_seed", "seed 6, run 0) is none of protocol"),
        ("change_run", "run 1) is none of protocol"),
        ("truncate", "the episode has not ended after its"),
        ("step_after_the_end", "the episode ends after step"),
        ("protocol_digest", "evaluate again with this version"),
        ("unknown_protocol", "unknown protocol '../../../../etc/passwd'"),
        ("more_runs", "runs is 2, but"),
        ("extra_key", "submission.json: success_rate: Extra inputs are not permitted"),
        ("other_schema_version", "this program reads schema version 1 to 2"),
        ("name_of_a_device", "a folder can have on every system"),
        ("other_name_than_the_folder", "move it to"),
        ("privileged_with_a_rank", "can only be a reference line"),
        ("long_reflection", "line 1: a reflection is longer than 16384 bytes"),
        ("whole_number_for_a_reward", "is not as the runner writes it"),
        ("keys_in_another_order", "is not as the runner writes it"),
        ("script_link", "must be a web address"),
    ],
)
def test_message_names_what_differs(forgery: str, says: str, entry: Path) -> None:
    forged = Forged(entry)
    {each.__name__: each for each in FORGERIES}[forgery](forged)
    forged.save(redigest=True)
    with pytest.raises(UsageError) as refused:
        verify(entry)
    assert says in str(refused.value)


def test_an_honest_recording_of_other_actions_holds_with_its_own_score(entry: Path) -> None:
    """The limit of replay: who plays an episode anew and records it truly has made another entry, with its score."""
    before = verify(entry).score
    forged = Forged(entry)
    episode = next(each for each in forged.episodes if each["success"] and len(each["actions"]) > 1)
    episode.update(actions=["fly"], reflections=[None], rewards=[-10.0], success=False)
    forged.rehash()
    forged.save(redigest=True)
    after = verify(entry).score
    assert after.success_rate == pytest.approx(before.success_rate - 0.01)


def one_change(episodes: list[dict[str, Any]], data: st.DataObject) -> None:
    """Change one value of one episode into another one."""
    episode = episodes[data.draw(st.integers(0, len(episodes) - 1), label="episode")]
    key = data.draw(st.sampled_from(sorted(set(episode) - {"reflections"})), label="key")
    value = episode[key]
    new: dict[str, st.SearchStrategy[Any]] = {
        "actions": st.sampled_from(["move south", "move north", "move east", "move west", "pick up passenger", ""])
        | st.text(max_size=60),
        "rewards": st.floats() | st.integers(),
        "digest": st.text("0123456789abcdef", min_size=64, max_size=64) | st.text(),
        "task_id": st.sampled_from([each["task_id"] for each in episodes]) | st.text(),
        "seed": st.integers(),
        "run": st.integers(),
    }
    if isinstance(value, bool):
        episode[key] = not value
    elif isinstance(value, list):
        step = data.draw(st.integers(0, len(value) - 1), label="step")
        value[step] = data.draw(new[key].filter(lambda drawn: drawn != value[step]), label="new")
    else:
        episode[key] = data.draw(new[key].filter(lambda drawn: drawn != value), label="new")


@given(data=st.data())
def test_any_one_change_is_refused(data: st.DataObject, packed: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.mktemp("forged")
    shutil.copytree(packed, folder, dirs_exist_ok=True)
    forged = Forged(folder)
    one_change(forged.episodes, data)
    forged.save(redigest=True)
    with pytest.raises(UsageError) as refused:
        verify(folder)
    assert str(refused.value).isprintable()


def damaged(packed: bytes) -> bytes:
    return packed[:100] + bytes(byte ^ 0xFF for byte in packed[100:200]) + packed[200:]


def with_name(packed: bytes) -> bytes:
    """Return the same gzip file with a name in its head."""
    return packed[:3] + bytes([8]) + packed[4:10] + b"hidden\0" + packed[10:]


def edited(packed: bytes, edit: Callable[[bytes], bytes]) -> bytes:
    return gzip.compress(edit(gzip.decompress(packed)), mtime=0)


PACKED: dict[str, Callable[[bytes], bytes]] = {
    "damaged": damaged,
    "cut": lambda packed: packed[: len(packed) // 2],
    "empty": lambda packed: b"",
    "no gzip": lambda packed: b'{"task_id": 1}\n',
    "no JSON": lambda packed: gzip.compress(b"task_id: 1\n"),
    "no UTF-8": lambda packed: gzip.compress(b"\xff\xfe\n"),
    "nested": lambda packed: gzip.compress(b"[" * 200_000),
    "long number": lambda packed: gzip.compress(b'{"seed": ' + b"9" * 100_000 + b"}\n"),
    "empty line": lambda packed: gzip.compress(gzip.decompress(packed) + b"\n"),
    "bomb": lambda packed: gzip.compress(bytes(MAX_FILE_BYTES + 1), compresslevel=1),
    "bomb of lines": lambda packed: gzip.compress(b"[]\n" * (MAX_FILE_BYTES // 3 + 1), compresslevel=1, mtime=0),
    "bomb of one line": lambda packed: gzip.compress(b"[" + b"1," * (MAX_LINE_BYTES // 2), compresslevel=1, mtime=0),
    "bomb of a reflection": lambda packed: edited(
        packed, lambda text: text.replace(b"I think", b"I think" * 1_000_000, 1)
    ),
    "more lines": lambda packed: edited(packed, lambda text: text * 3),
    "name in the head": with_name,
    "time in the head": lambda packed: gzip.compress(gzip.decompress(packed), mtime=1),
    "empty member": lambda packed: packed + gzip.compress(b"", mtime=0),
    "zeros at the end": lambda packed: packed + bytes(8),
    "doubled key": lambda packed: edited(packed, lambda text: text.replace(b'{"task_id":', b'{"seed":9,"task_id":', 1)),
    "space": lambda packed: edited(packed, lambda text: text.replace(b"}\n", b" }\n", 1)),
    "space at the end of a line": lambda packed: edited(packed, lambda text: text.replace(b"}\n", b"} \n", 1)),
    "no last line end": lambda packed: edited(packed, lambda text: text.removesuffix(b"\n")),
    "escaped letter": lambda packed: edited(packed, lambda text: text.replace(b"I think", b"\\u0049 think", 1)),
    "byte order mark": lambda packed: edited(packed, lambda text: b"\xef\xbb\xbf" + text),
    "large": lambda packed: packed + bytes(MAX_TRAJECTORIES_BYTES),
}


@pytest.mark.parametrize("redigest", [False, True])
@pytest.mark.parametrize("kind", PACKED)
def test_broken_recording_is_refused(kind: str, redigest: bool, entry: Path, command: Command) -> None:
    forged = Forged(entry)
    forged.save_packed(PACKED[kind]((entry / TRAJECTORIES_FILE).read_bytes()), redigest=redigest)
    assert "trajectories.jsonl.gz" in only_line(command("verify", entry), entry)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff",
        b"[" * 10_000,
        b" " * (MAX_SUBMISSION_BYTES + 1),
        b'{"a\x1b": 1}',
        b'{"a\\nb": 1}',
    ],
    ids=["empty", "cut", "list", "null", "no UTF-8", "nested", "large", "escape", "key of two lines"],
)
def test_broken_submission_file_is_refused(content: bytes, entry: Path, command: Command) -> None:
    (entry / SUBMISSION_FILE).write_bytes(content)
    assert only_line(command("verify", entry), entry).startswith("submission.json")


@pytest.mark.parametrize("file", [SUBMISSION_FILE, TRAJECTORIES_FILE])
def test_link_folder_or_missing_file_is_refused(file: str, entry: Path, tmp_path: Path, command: Command) -> None:
    elsewhere = (entry / file).rename(tmp_path / "elsewhere")
    assert "is missing or is no plain file" in only_line(command("verify", entry), entry)
    (entry / file).symlink_to(elsewhere)
    assert "is missing or is no plain file" in only_line(command("verify", entry), entry)
    (entry / file).unlink()
    (entry / file).mkdir()
    assert "is missing or is no plain file" in only_line(command("verify", entry), entry)


def test_further_file_is_refused(entry: Path, command: Command) -> None:
    (entry / "run.sh").write_text("true")
    assert only_line(command("verify", entry), entry) == "run.sh is no part of an entry: delete it"


BAD_NAMES = [
    "",
    ".",
    "..",
    "../up",
    "a/b",
    "/etc",
    "a\\b",
    "A",
    "ä",
    "a b",
    ".hidden",
    "end.",
    "-flag",
    "a\n",
    "x" * 65,
]


@pytest.mark.parametrize("name", BAD_NAMES)
def test_name_that_is_no_folder_name_is_refused(
    name: str, entry: Path, run_folder: Path, tmp_path: Path, command: Command
) -> None:
    forged = Forged(entry)
    forged.facts["name"] = name
    forged.save(redigest=True)
    assert only_line(command("verify", entry), entry).startswith("submission.json: name: ")
    before = sorted(tmp_path.rglob("*"))
    refused = command("pack", run_folder, f"--name={name}", "--out", tmp_path / "new")
    assert "lower-case letters" in only_line(refused, run_folder)
    assert sorted(tmp_path.rglob("*")) == before


def test_real_process_ends_with_code_2_and_one_line(entry: Path) -> None:
    forged = Forged(entry)
    forged.episodes[0]["rewards"][0] = 1e300
    forged.save(redigest=True)
    ran = subprocess.run(
        [sys.executable, "-m", "leaderboard.cli", "verify", str(entry)], capture_output=True, text=True, check=False
    )
    assert (ran.returncode, ran.stdout) == (2, "")
    assert only_line(Finished(ran.returncode, [], ran.stderr.splitlines()), entry).count("1e+300") == 1


def repeated() -> Protocol:
    """A protocol of three episodes, each played twice by agents that draw."""
    protocol = load_protocol(PROTOCOL)
    return replace(protocol, name="test/repeated", runs=2, episodes=protocol.episodes[:3])


def test_runs_are_checked_where_a_protocol_repeats_its_episodes(packed: Path, tmp_path: Path) -> None:
    protocol = repeated()
    run, trajectories = evaluate(load_agent("random"), protocol)
    facts = {**verify(packed).submission.model_dump(), "protocol_digest": protocol.digest}
    facts["run"] = {**facts["run"], "runs": 2}
    submission = make_submission(facts)

    def recording(episodes: list[Trajectory]) -> Path:
        write_trajectories(tmp_path / TRAJECTORIES_FILE, episodes)
        return tmp_path / TRAJECTORIES_FILE

    verified = check(submission, protocol, recording(trajectories))
    assert (run.runs, verified.score.episodes, verified.score.tasks) == (2, 6, 3)
    with pytest.raises(UsageError, match="run 1\\) is missing"):
        check(submission, protocol, recording(trajectories[:3]))
    with pytest.raises(UsageError, match="stands where"):
        check(submission, protocol, recording(trajectories[3:] + trajectories[:3]))
    once = make_submission({**facts, "run": {**facts["run"], "runs": 1}})
    with pytest.raises(UsageError, match="plays test/repeated 2 times"):
        check(once, protocol, recording(trajectories[:3]))
    steady = make_submission({**once.model_dump(), "deterministic": True})
    assert check(steady, protocol, recording(trajectories[:3])).score.episodes == 3
    with pytest.raises(UsageError, match="is none of protocol"):
        check(steady, protocol, recording(trajectories))


def test_pack_verifies_before_it_writes(run_folder: Path, tmp_path: Path, command: Command) -> None:
    run = tmp_path / "run"
    shutil.copytree(run_folder, run)
    content = json.loads((run / RUN_FILE).read_text())
    for edit, named in [
        ({"protocol_digest": "0" * 64}, run),
        ({"runs": 3}, run),
        ({"tokens": -1}, run),
        ({"runs": "1"}, run / RUN_FILE),
        ({"hardware": ["x"]}, run / RUN_FILE),
    ]:
        (run / RUN_FILE).write_text(json.dumps({**content, **edit}))
        only_line(command("pack", run, "--name", "a", "--out", tmp_path / "new"), named)
    (run / RUN_FILE).write_text(json.dumps(content))
    lines = gzip.decompress((run / TRAJECTORIES_FILE).read_bytes()).replace(b'"success":false', b'"success":true')
    (run / TRAJECTORIES_FILE).write_bytes(gzip.compress(lines))
    refused = command("pack", run, "--name", "a", "--out", tmp_path / "new")
    assert "success is True" in only_line(refused, run)
    assert not (tmp_path / "new").exists()


def test_pack_refuses_what_is_there_and_leaves_it(
    run_folder: Path, entry: Path, submissions: Path, command: Command
) -> None:
    before = {path.name: path.read_bytes() for path in entry.iterdir()}
    refused = command("pack", run_folder, "--name", entry.name, "--description", "new", "--out", submissions)
    assert refused.code == 2
    assert refused.err == [
        f"natlang-leaderboard: {entry} already exists: choose another --name, or delete it",
    ]
    assert {path.name: path.read_bytes() for path in entry.iterdir()} == before
    assert [path.name for path in entry.parent.iterdir()] == [entry.name]


def test_pack_command_writes_all_facts(run_folder: Path, tmp_path: Path, command: Command) -> None:
    out = tmp_path / "new"
    facts = ["--description", "One line.", "--author", "A", "--author", "B", "--contact", "a@b", "--model", "m"]
    facts += [
        "--link",
        "https://example.org/x?a=1",
        "--parameters",
        "12",
        "--deterministic",
        "--disclosure",
        "two\nlines",
    ]
    done = command("pack", run_folder, "--name", "a-1.b_c", "--out", out, *facts)
    assert (done.code, done.out, done.err) == (0, [str(out / PROTOCOL / "a-1.b_c")], [])
    submission = verify(out / PROTOCOL / "a-1.b_c").submission
    assert submission.authors == ("A", "B")
    assert (submission.link, submission.parameters, submission.deterministic) == ("https://example.org/x?a=1", 12, True)
    assert (submission.disclosure, submission.run.agent) == ("two\nlines", "Wanderer 1")


def test_missing_run_or_wrong_command_line_is_one_line(tmp_path: Path, command: Command) -> None:
    for arguments in (["pack", tmp_path, "--name", "a"], ["pack", tmp_path], ["verify"], ["nothing"]):
        finished = command(*arguments)
        assert (finished.code, len(finished.err)) == (2, 1), finished


def test_pack_into_a_folder_that_cannot_be_written_is_refused(run_folder: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written"):
        pack(run_folder, name="a", out=tmp_path / "file")


def test_every_bomb_is_refused_in_bounded_memory(entry: Path, tmp_path: Path) -> None:
    packed = (entry / TRAJECTORIES_FILE).read_bytes()
    kinds = ("bomb", "bomb of lines", "bomb of one line", "bomb of a reflection", "nested", "more lines")
    entries = [tmp_path / kind / entry.relative_to(entry.parents[3]) for kind in kinds]
    for kind, each in zip(kinds, entries, strict=True):
        shutil.copytree(entry, each)
        Forged(each).save_packed(PACKED[kind](packed), redigest=True)
    # One process for all. Not `ru_maxrss`: after a fork it holds the memory of the process that runs the tests.
    script = """
import re, sys
from leaderboard.cli import main
for entry in sys.argv[1:]:
    sys.argv[1:] = ["verify", entry]
    try: main()
    except SystemExit as left: print(left.code)
print(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1])
"""
    ran = subprocess.run([sys.executable, "-c", script, *entries], capture_output=True, text=True, check=True)
    *codes, kilobytes = ran.stdout.split()
    assert codes == ["2"] * len(kinds)
    refused = ran.stderr.splitlines()
    assert len(refused) == len(kinds)
    assert all("trajectories.jsonl.gz" in each for each in refused)
    assert int(kilobytes) < 500_000


def test_a_link_to_an_entry_is_refused(entry: Path, tmp_path: Path, command: Command) -> None:
    link = tmp_path / "link"
    link.symlink_to(entry)
    assert "is no folder" in only_line(command("verify", link), link)


def test_a_copy_of_another_entry_is_refused_and_named(entry: Path, run_folder: Path, command: Command) -> None:
    refused = command("pack", run_folder, "--name", "another", "--out", entry.parents[2])
    assert refused.code == 2
    assert f"its episodes are those of the entry {PROTOCOL}/wanderer" in refused.err[0]
    copy = entry.with_name("another")
    shutil.copytree(entry, copy)
    forged = Forged(copy)
    forged.facts["name"] = "another"
    forged.save(redigest=True)
    assert "are those of the entry" in only_line(command("verify", copy), copy)


def test_a_privileged_run_becomes_a_reference_line(tmp_path: Path) -> None:
    evaluate(load_agent("oracle"), PROTOCOL, name="gpt-17", out=tmp_path / "run")
    submission = verify(pack(tmp_path / "run", name="gpt-17", out=tmp_path / "submissions")).submission
    assert (submission.reference, submission.run.privileged) == (True, True)


def test_a_run_of_an_older_version_cannot_be_packed(run_folder: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(run_folder, run)
    content = json.loads((run / RUN_FILE).read_text())
    for key in ("sampling", "privileged", "provenance"):
        del content[key]
    (run / RUN_FILE).write_text(json.dumps(content))
    with pytest.raises(UsageError, match="made by an older version"):
        pack(run, name="a", out=tmp_path / "new")


def test_packing_a_run_a_second_time_is_told_apart_from_other_refusals(run_folder: Path, tmp_path: Path) -> None:
    pack(run_folder, name="first", out=tmp_path)
    with pytest.raises(CopiedEntry, match=r"its episodes are those of the entry .*/first"):
        pack(run_folder, name="second", out=tmp_path)
