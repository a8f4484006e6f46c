"""Cheats find nothing to cheat with in an audit, and an agent that misbehaves is told so in one line."""

from __future__ import annotations

import shutil
import socket
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from leaderboard.audit import audit
from leaderboard.pack import pack
from natlang_envs import UsageError
from natlang_envs.evaluation import evaluate, load_agent
from natlang_envs.evaluation.runs import provenance
from reference_agent.models.backbone import finished
from tests.leaderboard.forge import PROTOCOL
from tests.leaderboard.test_audit import AGENTS, entry_of, here
from tests.reference_agent.conftest import trained_run
from tests.support.slow import slow_unless

__all__ = ["here"]  # a fixture


@pytest.mark.parametrize("cheat", ["FramePeek", pytest.param("HeapPeek", marks=pytest.mark.slow), "Labels"])
def test_a_cheat_wins_in_the_environments_process_and_fails_its_audit(tmp_path: Path, cheat: str) -> None:
    _, trajectories = evaluate(load_agent(f"audited:{cheat}"), PROTOCOL, out=tmp_path / "run", batch=1)
    assert all(each.success for each in trajectories)
    entry = pack(tmp_path / "run", name="agent", out=tmp_path / "submissions")
    found = audit(entry, f"audited:{cheat}", "beacon")
    assert found.recorded == 100
    assert found.again < 20
    assert "the recording has 100 successes" in found.problem


def test_a_cheat_that_patches_the_audit_patches_nothing(tmp_path: Path) -> None:
    evaluate(load_agent("audited:Labels"), PROTOCOL, out=tmp_path / "run", batch=1)
    entry = pack(tmp_path / "run", name="agent", out=tmp_path / "submissions")
    found = audit(entry, "audited:Patched", "beacon")
    assert "the recording has 100 successes" in found.problem


@pytest.mark.parametrize("cheat", ["LabelFiles", "Parent", "Caller"])
def test_files_processes_and_the_network_are_out_of_reach(
    tmp_path: Path, cheat: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AUDITING", "1")
    entry = entry_of("audited:Drawing", tmp_path)
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("AUDITED_PORT", str(server.getsockname()[1]))
        found = audit(entry, f"audited:{cheat}", "beacon", variables=["AUDITED_PORT"])
        # What it finds it says in place of an action; then it would not draw as recorded.
        assert (found.same, found.open) == (found.steps, ())
        if cheat == "Caller":
            let_out = audit(entry, f"audited:{cheat}", "beacon", variables=["AUDITED_PORT"], network=True)
            assert (let_out.same, let_out.open) == (0, ("the network",))


def test_without_isolation_an_audit_says_what_is_open_and_passes_nobody(tmp_path: Path) -> None:
    entry = entry_of("audited:Drawing", tmp_path)
    found = audit(entry, "audited:Drawing", "beacon", isolated=False)
    assert found.same == found.steps
    assert found.problem.startswith("open to the agent were files, processes and the network of this machine")
    # A cheat's frames and heap are out of reach there too.
    assert audit(entry, "audited:HeapPeek", "beacon", isolated=False).same == found.steps


MISBEHAVE = {
    "Hangs": "the agent hangs: it gave no answer in 3 seconds",
    "Forks": "the agent answers what it was not asked",
    "ForkBomb": "the agent (stopped: BlockingIOError|hangs)|the agent's process ended",
    "Writes": "the agent answers what it was not asked|the agent wrote something that is no answer",
    "Floods": "the agent answers with more than 1,048,576 bytes",
    "Dies": "the agent's process ended in the middle of the audit: no memory left",
    "Raises": r"the agent stopped: RuntimeError: two\\nlines",
    "Leaves": "the agent stopped: SystemExit: enough",
    "Nothing": "the agent stopped: UsageError: an agent answers with a str or a Decision, not None",
    "DiesAtOnce": "the agent's process ended in the middle of the audit",
}


@pytest.mark.parametrize("agent", slow_unless(lambda number: number % 4 == 0, MISBEHAVE))
def test_an_agent_that_misbehaves_is_told_so_in_one_line(south: Path, agent: str) -> None:
    with pytest.raises(UsageError, match=MISBEHAVE[agent]) as told:
        audit(south, f"audited:{agent}", "beacon", patience=3 if agent == "Hangs" else 60)  # of a busy machine
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("agent", ["Prints", pytest.param("SaysMuch", marks=pytest.mark.slow)])
def test_an_agent_may_print_and_say_much(tmp_path: Path, agent: str) -> None:
    entry = entry_of(f"audited:{agent}", tmp_path, deterministic=True)
    found = audit(entry, f"audited:{agent}", "beacon")
    assert (found.same, found.problem) == (found.steps, "")


@pytest.fixture(scope="module")
def south(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An entry that always goes south."""
    folder = tmp_path_factory.mktemp("south")
    evaluate(lambda given: "move south", PROTOCOL, out=folder / "run", batch=1)
    return pack(folder / "run", name="agent", out=folder / "submissions", deterministic=True)


def test_an_agent_reads_the_models_that_were_fetched(
    south: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path / "cache"))
    weights = {"south": torch.ones(2)}
    finished(tmp_path / "cache/models/small", lambda folder: save_file(weights, folder / "model.safetensors"))
    (tmp_path / "agent_on_base.py").write_text(
        "import os\nfrom safetensors import safe_open\n"
        "with safe_open(os.environ['NATLANG_CACHE'] + '/models/small/model.safetensors', 'pt') as file:\n"
        "    words = list(file.keys())\n"
        "def agent(given):\n    return f'move {words[0]}'\n"
    )
    assert audit(south, "agent_on_base:agent", "beacon").problem == ""


def test_a_module_that_needs_more_files_is_told_how_to_show_them(south: Path, tmp_path: Path) -> None:
    (tmp_path / "agent_of_two.py").write_text("from helper import word\ndef agent(given):\n    return word\n")
    (tmp_path / "helper.py").write_text("word = 'move south'\n")
    with pytest.raises(UsageError, match=r"the agent stopped: .*no module 'helper' in this folder"):
        audit(south, "agent_of_two:agent", "beacon")
    assert audit(south, "agent_of_two:agent", "beacon", files=tmp_path).problem == ""
    (tmp_path / "secrets").symlink_to("/etc/passwd")
    with pytest.raises(UsageError, match="secrets is a link to elsewhere"):
        audit(south, "agent_of_two:agent", "beacon", files=tmp_path)
    with pytest.raises(UsageError, match="holds natlang_envs itself, labels included"):
        audit(south, "tests.leaderboard.audited:south", "beacon", files=AGENTS.parents[2])


@pytest.mark.slow
def test_weights_are_loaded_by_the_board_and_must_be_those_of_the_run(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NATLANG_CACHE", str(tmp_path / "cache"))
    run = tmp_path / "trained"
    shutil.copytree(trained_run(tmp_path_factory), run)
    for agent, folder in ((f"reflect-rl:{run}", "greedy"), (f"reflect-rl-sample:{run}", "drawn")):
        out = tmp_path / folder
        evaluate(load_agent(agent), PROTOCOL, out=out / "run", source=provenance("entry point", agent))
        entry = pack(out / "run", name="agent", out=out / "submissions", deterministic=folder == "greedy")
        found = audit(entry, agent, "beacon")
        assert (found.same, found.problem, found.surprise is not None) == (found.steps, "", folder == "drawn")
    with pytest.raises(UsageError, match=r"the entry played the checkpoint SHA-256 .*, and this agent has none"):
        audit(entry, "audited:Drawing", "beacon")
    with pytest.raises(UsageError, match=r"trained is not in .*: name the folder that holds it by --files"):
        audit(entry, agent, "beacon", files=tmp_path / "drawn")
    (run / "later.txt").write_text("other weights")
    with pytest.raises(UsageError, match=r"the entry played the checkpoint SHA-256 .*, and this agent has SHA-256"):
        audit(entry, agent, "beacon")


def test_a_gpu_is_shown_where_it_is_asked_for_and_refused_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    module = tmp_path / "seeing.py"
    module.write_text(
        "import mmap, os\ndef agent(given):\n    shown = os.path.exists('/dev/kmsg')\n"
        "    mmap.mmap(-1, 1 << 30 if shown else 1)  # CUDA makes large shared maps, refused to any other program\n"
        "    return 'move south' if shown else 'move north'\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    evaluate(load_agent("seeing:agent"), PROTOCOL, out=tmp_path / "run")
    entry = pack(tmp_path / "run", name="agent", out=tmp_path / "submissions")
    monkeypatch.setattr(
        "leaderboard.audit.agent_process._GPUS", "kmsg"
    )  # as long as it is a device that is not shown else
    with_it = audit(entry, "seeing:agent", "x", gpu=True)
    assert (with_it.same, with_it.open) == (with_it.steps, ())
    assert audit(entry, "seeing:agent", "x").same == 0
    monkeypatch.setattr("leaderboard.audit.agent_process._GPUS", "no-such-device*")
    with pytest.raises(UsageError, match="this machine has no NVIDIA GPU to show to the agent: leave out --gpu"):
        audit(entry, "seeing:agent", "x", gpu=True)
