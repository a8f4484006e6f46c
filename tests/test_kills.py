"""Real commands that are killed, full disks and second processes: nothing is lost, and the next start goes on."""

from __future__ import annotations

import resource
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from leaderboard.pack import pack
from leaderboard.standings import entry_folders
from natlang_envs import UsageError, record
from natlang_envs.evaluation import evaluate, load_protocol
from natlang_envs.evaluation.agents import RandomAgent
from natlang_envs.evaluation.runs import JOURNAL_FILE, RUN_FILE, TRAJECTORIES_FILE
from natlang_envs.files import alone, only_process, whole_folder, write_whole
from tests.support.commands import ROOT, Case, served
from tests.support.slow import TORCH

PROTOCOL = "dangerous-taxi-pickup/v1"
COMMANDS = [
    pytest.param(name, id=name, marks=() if name == "evaluating" else pytest.mark.slow)
    for name in ("exploring", "evaluating", "packing", "fetching", "collecting", "training")
]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, Case]]]:
    for package in ("torch", "openai", "unearth", "pydantic"):
        pytest.importorskip(package)
    root = tmp_path_factory.mktemp("kills")
    with served(root) as known:
        yield root, {case.name: case for case in known}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_killed_command_goes_on_to_the_undisturbed_result(name: str, cases: tuple[Path, dict[str, Case]]) -> None:
    root, known = cases
    case, place = known[name], known[name].place(root)
    begun = time.monotonic()
    assert case.start(place).code == 0
    expected, share = case.found(place), 0.7 * (time.monotonic() - begun)
    while not case.start(place := case.place(root), kill_after=share).killed or case.found(place) == expected:
        share *= 0.8
    assert case.found(place).items() <= expected.items()
    assert case.start(place).code == 0
    assert case.found(place) == expected
    assert not [*(place / "disk").rglob(".*.unfinished"), *(place / "tmp").glob("natlang*")]


HELD = """
import sys, time
from pathlib import Path
from natlang_envs.files import whole_folder
with whole_folder(Path(sys.argv[1])) as folder:
    (folder / "half").touch()
    print(flush=True)
    time.sleep(60)
"""


def test_the_next_write_removes_what_a_killed_one_left_and_nothing_that_is_being_written(tmp_path: Path) -> None:
    not_ours = tmp_path / ".0123456789abcdef.unfinished.mine"
    not_ours.touch()
    command = [sys.executable, "-c", HELD, str(tmp_path / "target")]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as writing:
        assert writing.stdout is not None
        writing.stdout.readline()
        write_whole(tmp_path / "file", b"1")
        assert len(list(tmp_path.glob(".*.unfinished"))) == 1, "it is being written"
        writing.send_signal(signal.SIGKILL)
    write_whole(tmp_path / "file", b"2")
    assert sorted(tmp_path.iterdir()) == [not_ours, tmp_path / "file"]


def test_one_process_works_in_a_run_folder(tmp_path: Path) -> None:
    with only_process(tmp_path), pytest.raises(UsageError, match=r"another process works in .*: wait for its end"):
        evaluate(RandomAgent(), PROTOCOL, out=tmp_path, episodes=2)
    assert list(tmp_path.iterdir()) == []
    evaluate(RandomAgent(), PROTOCOL, out=tmp_path, episodes=2)


def test_a_finished_run_resumes_to_itself(tmp_path: Path) -> None:
    played = evaluate(RandomAgent(), PROTOCOL, out=tmp_path, name="a", episodes=2)
    # Killed after the run was written and before the journal was removed.
    (tmp_path / JOURNAL_FILE).write_text("whatever")
    before = (tmp_path / RUN_FILE).read_bytes()
    assert evaluate(RandomAgent(), PROTOCOL, out=tmp_path, name="a", episodes=2, resume=True) == played
    assert sorted(each.name for each in tmp_path.iterdir()) == [RUN_FILE, TRAJECTORIES_FILE]
    for name, episodes in (("b", 2), ("a", 3)):
        with pytest.raises(UsageError, match="already holds a run of another protocol, agent or number of runs"):
            evaluate(RandomAgent(), PROTOCOL, out=tmp_path, name=name, episodes=episodes, resume=True)
    with pytest.raises(UsageError, match="already holds a run"):
        record(load_protocol(PROTOCOL), tmp_path, name="a", resume=True)
    assert (tmp_path / RUN_FILE).read_bytes() == before


def test_an_entry_that_was_not_packed_whole_is_no_entry(tmp_path: Path) -> None:
    run, board = tmp_path / "run", tmp_path / "entries" / "dangerous-taxi-pickup" / "paper"
    evaluate(RandomAgent(), PROTOCOL, out=run, name="a")
    left = board / ".0123456789abcdef.unfinished"
    left.mkdir(parents=True)
    shutil.copy(run / TRAJECTORIES_FILE, left)
    assert entry_folders(tmp_path / "entries") == []
    with whole_folder(board / "other") as held:
        shutil.copy(run / TRAJECTORIES_FILE, held)  # another process packs the same
        entry = pack(run, name="a", out=tmp_path / "entries")
        assert entry_folders(tmp_path / "entries") == [entry]


@contextmanager
def small_files(size: int) -> Iterator[None]:
    """Let no file grow beyond a size, as on a full disk; Python ignores the signal, so that the write fails."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.fixture
def training() -> None:
    for package in ("torch", "openai"):
        pytest.importorskip(package)


@pytest.mark.usefixtures("training")
@TORCH
def test_a_checkpoint_that_does_not_fit_is_one_line_and_the_one_before_stays(tmp_path: Path) -> None:
    import torch

    from reference_agent.checkpoint import Checkpoints, Steps
    from reference_agent.models.language_model import LanguageModel
    from reference_agent.run.config import ModelConfig

    model = LanguageModel.tiny(ModelConfig(layers=1, width=32, inner=64, heads=2), ["A B"], ["A", "B"], 0)
    optimizer = torch.optim.AdamW(model.parameters())
    kept = Checkpoints(tmp_path, model)
    kept.save(Steps(0, 1, [], []), optimizer)
    with small_files(2_000), pytest.raises(UsageError, match=r"iteration-0-000002 cannot be written .*too large"):
        kept.save(Steps(0, 2, [], []), optimizer)
    assert [each.name for each in tmp_path.iterdir()] == ["iteration-0-000001"]
    assert kept.resume(Steps) == Steps(0, 1, [], [])


@pytest.mark.usefixtures("training")
@TORCH
def test_a_run_begins_where_the_first_start_was_killed_at_once(tmp_path: Path) -> None:
    from reference_agent.run.config import Config
    from reference_agent.run.stages import claim, read_config

    (tmp_path / ".0123456789abcdef.unfinished").write_text("{")
    claim(Config(), tmp_path)
    assert read_config(tmp_path) == Config()


@pytest.mark.usefixtures("training")
@TORCH
def test_damaged_examples_that_are_deleted_are_collected_again(
    cases: tuple[Path, dict[str, Case]], tmp_path: Path
) -> None:
    from reference_agent.data_set import read_examples
    from reference_agent.run.config_file import load_config
    from reference_agent.run.pipeline import collected

    config = load_config(cases[0] / "data" / "training.toml")
    file = collected(config, tmp_path, lambda *_: None)
    before = file.read_bytes()
    file.write_bytes(before[:500] + b"\0" + before[501:])
    with pytest.raises(UsageError, match="delete it to collect again"):
        read_examples(file)
    file.unlink()
    assert collected(config, tmp_path, lambda *_: None) == file
    assert file.read_bytes() == before


@pytest.mark.usefixtures("training")
@TORCH
def test_answers_that_cannot_be_kept_are_not_the_teachers_fault(
    cases: tuple[Path, dict[str, Case]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from reference_agent.collection import gather
    from reference_agent.run.config_file import load_config

    root, known = cases
    monkeypatch.setenv("OPENAI_BASE_URL", known["collecting"].urls[0])
    with small_files(100), pytest.raises(UsageError, match="takes no more answers") as refused:
        gather(load_config(root / "data" / "chat.toml"), tmp_path)
    assert "teacher" not in str(refused.value)


def test_one_process_fetches_at_a_time(cases: tuple[Path, dict[str, Case]]) -> None:
    root, known = cases
    case = known["fetching"]
    place = case.place(root)
    archives = place / "disk" / "cache" / "archives"
    archives.mkdir(parents=True)
    with alone(archives):
        fetching = case.begin(place)
        with pytest.raises(subprocess.TimeoutExpired):
            fetching.wait(3)
    assert case.ended(place, fetching).code == 0
    assert case.found(place)


def test_a_patch_never_replaces_one_that_came_in_between(tmp_path: Path) -> None:
    repository, patch = tmp_path / "repository", tmp_path / "fix.patch"
    repository.mkdir()
    (repository / "README.md").write_text("# Sums\n")
    arguments = [
        "explore",
        "Add.",
        "--repo",
        str(repository),
        "--agent",
        "human",
        "--mode",
        "change",
        "--export",
        str(patch),
    ]
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "natlang_envs.cli.main", *arguments],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as exploring:
        assert exploring.stdin is not None
        assert exploring.stdout is not None
        threading.Timer(30, exploring.kill).start()
        for line in exploring.stdout:
            if "30 steps left" in line:
                break
        patch.write_text("of another process")
        output, _ = exploring.communicate("echo more >> README.md\nexit\n", timeout=30)
    assert exploring.returncode == 0
    assert patch.read_text() == "of another process"
    assert "+more" in patch.with_name("fix.patch.new").read_text()
    assert "fix.patch.new" in "".join(output.split())


def test_nothing_of_a_killed_exploration_stays_in_the_temporary_folder(cases: tuple[Path, dict[str, Case]]) -> None:
    root, known = cases
    place = known["exploring"].place(root)
    exploring = known["exploring"].begin(place)
    while exploring.poll() is None and not list((place / "tmp").glob("natlang-*")):
        time.sleep(0.001)
    exploring.kill()
    exploring.wait()
    assert known["exploring"].start(place).code == 0
    assert not list((place / "tmp").glob("natlang-*"))
