"""Episodes played by other processes: the same bytes whatever their number, and nothing lost when one dies."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import evaluate, load_agent
from natlang_envs.evaluation.runner import Progress
from natlang_envs.evaluation.runs import JOURNAL_FILE, TRAJECTORIES_FILE
from natlang_envs.evaluation.workers import Workers
from tests.support.slow import slow_unless

AGENTS = "tests.support.worker_agents"
pytestmark = pytest.mark.timeout(120)
PROTOCOL = "dangerous-taxi-pickup-cities/v1"


def played(out: Path, agent: str, *, episodes: int = 12, workers: Workers | None = None, **options: object) -> bytes:
    evaluate(load_agent(agent), PROTOCOL, out=out, episodes=episodes, workers=workers, **options)  # type: ignore[arg-type]
    return (out / TRAJECTORIES_FILE).read_bytes()


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The recording of one process."""
    return played(tmp_path_factory.mktemp("alone") / "run", f"{AGENTS}:drawing")


@pytest.mark.parametrize(
    ("concurrency", "named"), slow_unless(lambda number: number == 1, [(1, True), (3, False), (1, False), (3, True)])
)
def test_the_bytes_are_those_of_one_process(tmp_path: Path, alone: bytes, concurrency: int, named: bool) -> None:
    workers = Workers(2, agent=f"{AGENTS}:drawing" if named else None)
    assert played(tmp_path, f"{AGENTS}:drawing", workers=workers, concurrency=concurrency) == alone


def test_agents_of_batches_play_too(tmp_path: Path) -> None:
    agent = f"{AGENTS}:Batch"
    one = played(tmp_path / "one", agent, batch=5)
    assert played(tmp_path / "two", agent, batch=5, workers=Workers(2, agent=agent)) == one


@pytest.mark.parametrize("deaths", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_worker_that_dies_is_replaced(
    tmp_path: Path, alone: bytes, deaths: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "marks").mkdir()
    monkeypatch.setenv("DYING", str(tmp_path / "marks"))
    for number in range(deaths):
        (tmp_path / "marks" / str(number)).touch()
    workers = Workers(2, agent=f"{AGENTS}:dying")  # its draws are those of `drawing`
    assert played(tmp_path / "run", f"{AGENTS}:dying", workers=workers) == alone
    assert not list((tmp_path / "marks").iterdir())


def test_a_task_at_which_every_worker_dies_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "marks").mkdir()
    monkeypatch.setenv("DYING", str(tmp_path / "marks"))
    for number in range(50):
        (tmp_path / "marks" / str(number)).touch()
    with pytest.raises(RuntimeError, match="a worker died 3 times at task"):
        played(tmp_path / "run", f"{AGENTS}:dying", workers=Workers(1, agent=f"{AGENTS}:dying"))


def test_what_is_played_stays_when_an_agent_fails(
    tmp_path: Path, alone: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken"
    broken.touch()
    monkeypatch.setenv("FAILING", str(broken))
    workers = Workers(2, agent=f"{AGENTS}:failing")
    with pytest.raises(ValueError, match="out of order"):
        played(tmp_path / "run", f"{AGENTS}:failing", workers=workers)
    kept = (tmp_path / "run" / JOURNAL_FILE).read_bytes().count(b"\n") - 1
    assert kept >= 1
    again = played(tmp_path / "run", f"{AGENTS}:drawing", workers=Workers(2, agent=f"{AGENTS}:drawing"), resume=True)
    assert again == alone


def test_a_killed_driver_goes_on(tmp_path: Path) -> None:
    agent = f"{AGENTS}:slow"
    command = [sys.executable, "-m", "natlang_envs.cli.main", "evaluate", "--agent", agent, "--protocol", PROTOCOL]
    command += ["--out", str(tmp_path / "run"), "--episodes", "12", "--workers", "2"]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as driver:
        journal = tmp_path / "run" / JOURNAL_FILE
        while driver.poll() is None and (not journal.exists() or journal.read_bytes().count(b"\n") < 4):
            time.sleep(0.02)
        driver.send_signal(signal.SIGKILL)
    assert journal.read_bytes().count(b"\n") >= 4
    done = subprocess.run([*command, "--resume"], capture_output=True, text=True, check=True)
    assert "12 episodes" in done.stdout
    assert (tmp_path / "run" / TRAJECTORIES_FILE).read_bytes() == played(tmp_path / "alone", agent)


def test_bad_workers_are_refused(tmp_path: Path) -> None:
    def inner(given: object) -> str:
        return "go"

    for workers, said in (
        (Workers(0), "workers must be a whole number of at least 1"),
        (Workers(1, address="auto"), "an address is for the backend ray"),
        (Workers(1, "threads"), "processes, ray"),  # type: ignore[arg-type]
        (Workers(1), "cannot be pickled"),
    ):
        with pytest.raises(UsageError, match=said):
            evaluate(inner, PROTOCOL, workers=workers, episodes=1)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> object:
    """A Ray cluster of two nodes with one processor each, beside a head without any."""
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    found = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    nodes = [found.add_node(num_cpus=1) for _ in range(2)]
    yield found, nodes
    found.shutdown()


@pytest.mark.slow
def test_a_ray_cluster_plays_the_same_bytes_when_a_node_dies(tmp_path: Path, cluster: object, alone: bytes) -> None:
    found, nodes = cluster  # type: ignore[misc]
    workers = Workers(2, "ray", found.address, f"{AGENTS}:drawing")
    assert played(tmp_path / "whole", f"{AGENTS}:drawing", workers=workers) == alone
    killed: list[bool] = []

    def kill(now: Progress) -> None:
        if now.done >= 3 and not killed:
            killed.append(True)
            found.remove_node(nodes[0], allow_graceful=False)

    workers = Workers(1, "ray", found.address, f"{AGENTS}:slow")
    assert played(tmp_path / "hurt", f"{AGENTS}:slow", workers=workers, progress=kill) == played(
        tmp_path / "slow", f"{AGENTS}:slow"
    )
    assert killed


def test_a_cluster_that_is_not_there_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    command = [sys.executable, "-m", "natlang_envs.cli.main", "evaluate", "--agent", "random", "--protocol", PROTOCOL]
    done = subprocess.run(
        [*command, "--out", str(tmp_path / "run"), "--backend", "ray", "--address", "127.0.0.1:9"],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    line = done.stderr.splitlines()[-1]  # before it stands the bar of progress
    assert "Traceback" not in done.stderr
    assert "no Ray cluster answers at 127.0.0.1:9" in line


@pytest.mark.slow
def test_a_node_with_another_version_is_one_line(tmp_path: Path) -> None:
    pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    other = tmp_path / "other" / "natlang_envs-0.0.1.dist-info"
    other.mkdir(parents=True)
    (other / "METADATA").write_text("Metadata-Version: 2.1\nName: natlang-envs\nVersion: 0.0.1\n")
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 0, "include_dashboard": False})
    try:
        cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": f"{other.parent}{os.pathsep}{Path(__file__).parents[2]}"})
        # In a process of its own: here Ray may know another cluster.
        command = [
            sys.executable,
            "-m",
            "natlang_envs.cli.main",
            "evaluate",
            "--agent",
            "random",
            "--protocol",
            PROTOCOL,
        ]
        command += ["--out", str(tmp_path / "run"), "--backend", "ray", "--address", cluster.address]
        # And in another folder: Ray hands on the driver's folder, and the checkout holds this version's metadata.
        environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 2
        assert "the cluster has natlang-envs 0.0.1 and this machine" in done.stderr.splitlines()[-1]
        assert "Traceback" not in done.stderr
    finally:
        cluster.shutdown()
