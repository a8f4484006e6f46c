"""The `natlang` command, as a user runs it; in another process where that is what is tested."""

from __future__ import annotations

import gzip
import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.main import get_group

import natlang_envs
from natlang_envs.cli import support as cli_support
from natlang_envs.cli.main import _pace, app
from natlang_envs.cli.support import printable
from natlang_envs.evaluation import load_protocol, protocol_names, read_run
from natlang_envs.evaluation.runner import Progress
from natlang_envs.evaluation.runs import RUN_FILE, TRAJECTORIES_FILE
from natlang_envs.trajectory import write_trajectories
from tests.support.here import run_here

ROOT = Path(natlang_envs.__file__).parents[1]
COMMAND = [sys.executable, "-m", "natlang_envs.cli.main"]
PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
TASK = "classic/2.3/red-green"
PLAN = ["move west", "move west", "move west", "move north", "move north", "pick up passenger"]


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(ROOT), "COLUMNS": "100", "NO_COLOR": "1"}


def natlang(*arguments: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
    return run_here("natlang", *arguments, stdin=stdin, environment={"COLUMNS": "100", "NO_COLOR": "1"})


def refused(*arguments: str) -> str:
    """Run a command that must be refused with one line on standard error, and return the line."""
    done = natlang(*arguments)
    assert done.returncode == 2, done.stderr
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith("natlang: ")
    return done.stderr


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A run of the random agent, and what the command printed."""
    out = tmp_path_factory.mktemp("runs") / "random"
    done = natlang("evaluate", "--agent", "random", "--protocol", "dangerous-taxi-pickup/v1", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "100/100" in done.stderr  # the progress bar's last state
    return out, done.stdout


def test_envs_lists_every_id() -> None:
    table = natlang("envs").stdout
    rows = json.loads(natlang("envs", "--json").stdout)
    assert [row["id"] for row in rows] == [entry.id for entry in (*natlang_envs.ENVIRONMENTS, *natlang_envs.SANDBOXED)]
    for row in rows:
        assert row["id"] in table
        assert row["horizon"] > 0
        assert row["splits"] == ["train", "validation", "test", "all"]
    assert {row["id"]: (row["horizon"], row["max_commands"]) for row in rows}[PICKUP] == (15, 6)


def test_commands_that_are_imported_late_are_listed_and_suggested_as_all_others() -> None:
    whole, data = (natlang(*arguments).stdout for arguments in (("--help",), ("data", "--help")))
    listed = re.findall(r"^│ ([\w-]+) ", whole.partition("Commands")[2], re.MULTILINE)
    assert listed[:9] == ["explore", "envs", "protocols", "protocol", "play", "evaluate", "replay", "serve", "data"]
    assert (
        set(listed)
        == {"alfworld", "doctor", "check-sandbox", *listed[:9]}
        == set(
            get_group(app).list_commands(None)  # type: ignore[arg-type]
        )
    )
    assert {"list", "fetch", "verify", "check", "label", "export"} <= set(re.findall(r"^│ (\w+) ", data, re.MULTILINE))
    assert "--repo" in natlang("explore", "--help").stdout
    assert "No such command 'exploer'. Did you mean 'explore'?" in refused("exploer")


@pytest.mark.parametrize("arguments", [["envs"], ["protocols"], ["play", PICKUP]])
def test_a_command_does_not_import_those_of_another(arguments: list[str]) -> None:
    code = f"""
import sys
from natlang_envs.cli.main import main
sys.argv = ["natlang", *{arguments}]
try:
    main()
except SystemExit as left:
    of_commands = [name for name in sys.modules if name.startswith("natlang_envs.cli.")]
    own = [f"natlang_envs.cli.{{name}}" for name in ("main", "support", sys.argv[1])]
    print(left.code, sorted({{*of_commands}} - {{*own}}), file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], input="q\n", capture_output=True, text=True, env=environment(), timeout=60
    )
    assert done.stderr == "0 []\n"


def test_protocols_lists_every_name() -> None:
    table = natlang("protocols").stdout
    for name in protocol_names():
        assert re.search(rf"{name}\s+{len(load_protocol(name).episodes)} ", table)


def test_a_person_plays_alfworld_and_reads_nothing_twice() -> None:
    answers = ["look", "go to fridge 1", "q"]
    done = natlang("play", "NatLang/ALFWorld-TomatoMicrowave-v0", "--seed", "1", stdin="\n".join(answers) + "\n")
    assert done.returncode == 0, done.stderr
    for text in (
        "Your task is to: ",
        "-= Welcome to TextWorld",
        "Looking quickly around you, you see a ",
        "You arrive",
    ):
        assert done.stdout.count(text) == 1, text
    assert "Stopped after 2 steps." in done.stdout


def test_a_person_plays_by_number_and_by_text_and_wins() -> None:
    answers = ["4", "move west", "99", "moo", "4", *PLAN[3:]]
    done = natlang("play", PICKUP, "--task", TASK, stdin="\n".join(answers) + "\n")
    assert done.returncode == 0, done.stderr
    assert f"Task {TASK}: Drive to the passenger" in done.stdout
    assert "+---------+" in done.stdout  # the picture
    assert "  5. pick up passenger" in done.stdout
    assert done.stdout.count("Not listed") == 2
    last = done.stdout.splitlines()[-1]
    assert last == "Success: return 15 in 6 steps; the environment's own plan has 6."


def test_a_person_loses_by_an_illegal_command() -> None:
    done = natlang("play", PICKUP, "--task", TASK, stdin="drop off passenger\n")
    assert done.returncode == 0
    assert done.stdout.splitlines()[-1] == "No success: return -10 in 1 step; the environment's own plan has 6."


def test_hints_are_shown_only_when_asked_for() -> None:
    without = natlang("play", PICKUP, "--task", TASK, stdin="?\nq\n").stdout
    with_hints = natlang("play", PICKUP, "--task", TASK, "--hints", stdin="?\nq\n").stdout
    assert "The plan goes on with" not in without
    assert f"The plan goes on with: {PLAN[0]}" in with_hints


@pytest.mark.parametrize("stdin", ["", "q\n", "4\n", "4\nq\n"])
def test_the_end_of_input_and_q_stop_cleanly(stdin: str) -> None:
    done = natlang("play", PICKUP, "--task", TASK, stdin=stdin)
    assert done.returncode == 0
    assert done.stderr == ""
    assert done.stdout.endswith(f"Stopped after {'1 step' if '4' in stdin else '0 steps'}.\n")


def test_a_seed_draws_the_same_task_from_the_split_and_map() -> None:
    arguments = ("play", PICKUP, "--seed", "7", "--map", "generated", "--split", "test")
    first = natlang(*arguments).stdout
    assert first == natlang(*arguments).stdout
    assert first.startswith("Task map-")


@pytest.mark.skipif(os.name != "posix", reason="sends SIGINT")
def test_ctrl_c_leaves_with_130() -> None:
    playing = subprocess.Popen(
        [*COMMAND, "play", PICKUP], env=environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert playing.stdin is not None
    assert playing.stdout is not None
    playing.stdin.write("moo\n")
    playing.stdin.flush()
    for line in playing.stdout:  # it has answered, so it waits for the next line now
        if "Not listed" in line:
            break
    playing.send_signal(signal.SIGINT)
    assert playing.wait(timeout=30) == 130
    playing.stdin.close()
    playing.stdout.close()


def test_evaluate_prints_the_score_of_the_run_it_wrote(finished: tuple[Path, str]) -> None:
    out, printed = finished
    run, trajectories = read_run(out)
    rate = sum(each.success for each in trajectories) / len(trajectories)
    steps = sum(len(each.actions) for each in trajectories) / len(trajectories)
    assert run.agent == "random"
    assert f"random on {run.protocol}, 100 episodes" in printed
    assert f"success {rate:.1%} (95% interval " in printed
    assert f"steps   {steps:.2f}" in printed
    assert "tokens  0" in printed
    assert printed.splitlines()[-1] == f"  folder  {out}"


def test_name_and_batch_change_no_episode(finished: tuple[Path, str], tmp_path: Path) -> None:
    arguments = ("--agent", "random", "--protocol", "dangerous-taxi-pickup/v1", "--out", str(tmp_path / "b"))
    assert natlang("evaluate", *arguments, "--name", "dice", "--batch", "7").returncode == 0
    run, trajectories = read_run(tmp_path / "b")
    assert run.agent == "dice"
    assert trajectories == read_run(finished[0])[1]


def test_replay_holds_a_run_and_finds_a_forged_one(finished: tuple[Path, str], tmp_path: Path) -> None:
    out, _ = finished
    held = natlang("replay", str(out))
    assert held.returncode == 0
    assert "holds: 100 episodes" in held.stdout

    text = gzip.decompress((out / TRAJECTORIES_FILE).read_bytes()).decode()
    forgeries = {
        "a reward": (text.replace("-10.0", "20.0", 1), "the reward of step"),
        "a success": (text.replace('"success":false', '"success":true', 1), "success is True"),
        "an episode less": (text.partition("\n")[2], "not the 100 episodes"),
    }
    for what, (forged, says) in forgeries.items():
        assert forged != text, what
        folder = tmp_path / what.replace(" ", "-")
        folder.mkdir()
        (folder / RUN_FILE).write_bytes((out / RUN_FILE).read_bytes())
        (folder / TRAJECTORIES_FILE).write_bytes(gzip.compress(forged.encode()))
        done = natlang("replay", str(folder))
        assert done.returncode == 1, what
        assert says in done.stdout, what
        assert "does not hold" in done.stdout, what


def test_a_try_of_some_episodes_is_resumed_and_replayed(tmp_path: Path) -> None:
    out = str(tmp_path / "run")
    given = ("evaluate", "--agent", "random", "--protocol", "dangerous-taxi-pickup/v1", "--episodes", "5", "--out", out)
    assert natlang(*given).returncode == 0
    resumed = natlang(*given, "--resume")
    assert resumed.returncode == 0, resumed.stderr
    held = natlang("replay", out)
    assert "holds: 5 episodes" in held.stdout, held.stderr
    other = (*given[:6], "7", *given[7:])
    assert "already holds a run of another protocol" in natlang(*other, "--resume").stderr
    file = tmp_path / "run" / RUN_FILE
    file.write_text(file.read_text().replace("+first5", "+first6"))
    assert "when it was played and is" in natlang("replay", out).stdout


def test_replay_finds_a_run_of_another_version_of_the_protocol(finished: tuple[Path, str], tmp_path: Path) -> None:
    run = json.loads((finished[0] / RUN_FILE).read_text())
    run["protocol_digest"] = "0" * 64
    (tmp_path / RUN_FILE).write_text(json.dumps(run))
    write_trajectories(tmp_path / TRAJECTORIES_FILE, read_run(finished[0])[1])
    done = natlang("replay", str(tmp_path))
    assert done.returncode == 1
    assert "when it was played and is" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((), "Missing command"),
        (("fly",), "No such command 'fly'"),
        (("play",), "Missing argument"),
        (("play", "NatLang/DangerousTaxi-Pickup-v1"), "choose one of NatLang/DangerousTaxi-Pickup-v0"),
        (("play", "CartPole-v1"), "is not an environment of natlang_envs"),
        (("play", "CartPole-v1", "--map", "classic"), "does not take all of these arguments: map"),
        (("play", "no_such_module:My/Env-v0"), "cannot be made: No module named 'no_such_module'"),
        (("play", PICKUP, "--split", "tset"), "unknown split 'tset': choose one of test"),
        (("play", PICKUP, "--map", "modern"), "unknown map 'modern'"),
        (("play", PICKUP, "--task", "classic/9.9/red-green"), "unknown task 'classic/9.9/red-green'"),
        (("play", PICKUP, "--task", "map-0001/0.0/red-green"), "on another kind of map"),
        (("play", PICKUP, "--seed", "-1"), "--seed"),
        (("play", PICKUP, "--seed", "one"), "--seed"),
        (("replay", "no-such-folder"), "no-such-folder/run.json is missing"),
        (("data", "mutate", "--repo", "x"), "Missing option '-o' / '--out' (see natlang data mutate --help)"),
        (("data", "mutate", "--repo", "no-such-folder", "-o", "x"), "no-such-folder' is no folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(arguments: tuple[str, ...], says: str) -> None:
    assert says in refused(*arguments)


@pytest.mark.parametrize("option", ["--repo", "--repository"])
def test_the_folder_of_labels_goes_by_its_former_option_too(option: str, tmp_path: Path) -> None:
    run = ("evaluate", "--agent", "bm25", "--labels", "x", option, str(tmp_path / "none"), "--out", str(tmp_path / "y"))
    assert "none' does not exist" in refused(*run)
    tasks = tmp_path / "tasks.jsonl"
    tasks.write_text('{"format": 1, "digest": "", "python": "", "tests": []}\n')
    assert "pass --tasks" in refused(*run[:4], str(tasks), option, str(tmp_path), *run[7:])
    assert "x cannot be read (No such file or directory): give" in refused(*run[:6], str(tmp_path), *run[7:])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"--agent": "randm"}, "unknown agent 'randm': choose one of random"),
        ({"--agent": "random:3"}, "takes no argument"),
        (
            {"--protocol": "dangerous-taxi-pickup/v9"},
            "one of dangerous-taxi-pickup/v1, dangerous-taxi-pickup-cities/v1",
        ),
        ({"--protocol": "../v1"}, "unknown protocol '../v1'"),
        ({"--batch": "0"}, "--batch"),
    ],
)
def test_a_refused_evaluation_writes_nothing(change: dict[str, str], says: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    options = {"--agent": "random", "--protocol": "dangerous-taxi-pickup-cities/v1", "--out": str(out), **change}
    assert says in refused("evaluate", *(part for option in options.items() for part in option))
    assert not out.exists()


def test_a_folder_that_holds_a_run_is_not_overwritten(finished: tuple[Path, str]) -> None:
    out, _ = finished
    before = {path: path.read_bytes() for path in out.iterdir()}
    arguments = ("--agent", "oracle", "--protocol", "dangerous-taxi-pickup-cities/v1", "--out", str(out))
    assert f"{out} already holds a run: choose another --out" in refused("evaluate", *arguments)
    assert {path: path.read_bytes() for path in out.iterdir()} == before


def test_an_out_that_is_a_file_is_refused_and_kept(tmp_path: Path) -> None:
    file = tmp_path / "notes"
    file.write_text("mine")
    arguments = ("--agent", "random", "--protocol", "dangerous-taxi-pickup-cities/v1", "--out", str(file))
    assert "choose another --out" in refused("evaluate", *arguments)
    assert file.read_text() == "mine"


def test_a_bug_keeps_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    def broken(**_: object) -> None:
        raise ZeroDivisionError("a bug")

    with pytest.raises(ZeroDivisionError):
        cli_support.run_app(broken, "natlang")  # pyright: ignore[reportArgumentType]
    assert capsys.readouterr().err == ""


def test_printable_escapes_what_steers_a_terminal_and_keeps_text() -> None:
    assert printable("\x1b[2J\x07 \u202e\ud800") == "\\x1b[2J\\x07 \\u202e\\ud800"
    for text in ("plain", "two\n\tlines", "déjà vu 東京 🚕"):
        assert printable(text) == text


@pytest.mark.parametrize(
    ("module", "name"), [("natlang_envs.cli.main", "natlang"), ("leaderboard", "natlang-leaderboard")]
)
def test_every_command_says_its_version(module: str, name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", module, "--version"], env=environment(), capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{name} {natlang_envs.__version__}\n"


@pytest.mark.parametrize(
    ("module", "missing", "extra"), [("reference_agent", "torch", "agent"), ("leaderboard", "jinja2", "leaderboard")]
)
def test_an_extra_that_is_not_installed_is_named_in_one_line(
    module: str, missing: str, extra: str, tmp_path: Path
) -> None:
    # A package of that name that fails as a missing one does, found before the installed one.
    (tmp_path / f"{missing}.py").write_text(f"raise ModuleNotFoundError('no {missing}', name={missing!r})")
    environ = {**environment(), "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    command = ["build"] if module == "leaderboard" else ["train", "--out", str(tmp_path / "run")]
    done = subprocess.run(
        [sys.executable, "-m", module, *command], env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[-1].endswith(f"{missing} is not installed: pip install 'natlang-envs[{extra}]'")
    assert len(done.stderr.splitlines()) == 1


def test_a_person_plays_a_protocol_and_stops_in_between(tmp_path: Path) -> None:
    """A scripted person: the first action, always, which soon ends each episode of the taxi."""
    protocol, out = "dangerous-taxi-pickup/v1", tmp_path / "run"
    first = natlang("play", protocol, "--record", str(out), "--name", "scripted", stdin="1\n" * 40 + "q\n")
    assert "Go on with the same command" in first.stdout
    left = re.findall(r"(\d+) episodes of", first.stdout)
    assert int(left[0]) == len(load_protocol(protocol).episodes) > int(left[-1])
    assert "Step 2 of" in first.stdout
    last = natlang("play", protocol, "--record", str(out), "--name", "scripted", stdin="1\n" * 30_000)
    assert re.findall(r"(\d+) episodes of", last.stdout)[0] == left[-1]
    assert f"The run is in {out}" in last.stdout
    run, trajectories = read_run(out)
    assert (run.agent, run.runs, len(trajectories)) == ("scripted", 1, int(left[0]))
    assert natlang("replay", str(out)).returncode == 0
    assert "leave all options" in refused("play", protocol, "--record", str(tmp_path / "other"), "--hints")
    assert "unknown protocol" in refused("play", PICKUP, "--record", str(tmp_path / "other"))


def test_words_stay_whole_on_a_terminal() -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*COMMAND, "play", "NatLang/ALFWorld-v0", "--seed", "1"], stdin=subprocess.PIPE, stdout=theirs,
        env={**environment(), "COLUMNS": "40"},
    ) as playing:  # fmt: skip
        os.close(theirs)
        playing.communicate(b"q\n", timeout=30)
    said = b""
    while True:
        try:
            more = os.read(ours, 1 << 16)
        except OSError:
            break
        if not more:
            break
        said += more
    os.close(ours)
    room = said.decode().replace("\r", "").partition("-= Welcome")[2].partition("Your task")[0]
    assert max(map(len, room.splitlines())) <= 40
    assert not re.search(r"\b[a-z]\n", room.replace("a\n", ""))


def test_the_doctor_says_what_works_and_what_is_missing(tmp_path: Path) -> None:
    done = natlang("doctor", "--json")
    assert done.returncode == 0, done.stderr
    found = {each["what"]: each for each in json.loads(done.stdout)}
    assert found["environments"]["state"] == "works"
    assert {
        "AutoExplore-ChangeFree",
        "extra agent",
        "isolation",
        "repositories",
        "official ALFWorld games",
        "cache",
    } <= set(found)
    given = {"COLUMNS": "100", "NATLANG_CACHE": str(tmp_path / "cache"), "ALFWORLD_DATA": str(tmp_path / "none")}
    bare = run_here("natlang", "doctor", environment=given)
    assert bare.returncode == 0, bare.stderr
    said = " ".join(bare.stdout.split())
    assert "natlang data fetch" in said
    assert "generated games need nothing" in said
    assert "it does not play; the lab" in said
    assert not (tmp_path / "cache").exists()


def test_progress_tells_the_rate_the_tokens_and_the_cost() -> None:
    first, now = Progress(10, 50, 3, 1_000), Progress(20, 50, 8, 2_500_000)
    assert _pace(now, first, seconds=5.5, prices=(0.4, 0.4)) == "40% won, 2 episodes/s, 2,500,000 tokens, $1.00"
    assert _pace(Progress(1, 2, 0, 0), Progress(1, 2, 0, 0), seconds=0.5, prices=None) == "0% won, 2 episodes/s"
