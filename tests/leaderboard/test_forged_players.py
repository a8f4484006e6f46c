"""Published players: changed ones are refused, whoever changes them, and the site has those of its rows."""

from __future__ import annotations

import gzip
import json
import re
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest
from safetensors.torch import load_file, save_file

from leaderboard.audit import audit
from leaderboard.changes import check_changes
from leaderboard.pack import pack
from leaderboard.schema import CHECKPOINTS
from leaderboard.site import build
from natlang_envs import UsageError
from natlang_envs.evaluation import evaluate, load_agent
from natlang_envs.evaluation.runs import provenance
from reference_agent.run.published import publish
from tests.leaderboard.forge import PROTOCOL
from tests.leaderboard.test_changes import checkout, commit
from tests.leaderboard.test_further_forgeries import AGENTS, entry_of, judged, ranks
from tests.leaderboard.test_site import planner
from tests.reference_agent.conftest import trained_run

__all__ = ["checkout"]  # a fixture
pytestmark = pytest.mark.xdist_group("forged players")  # one process trains them


class Trained(NamedTuple):
    """A run of seconds, one with other weights, and the players that were published of them."""

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
        runs = (trained_run(tmp_path_factory), folder / "another")
        shutil.copytree(runs[0], runs[1])
        for file in runs[1].rglob("*.safetensors"):
            save_file({name: weight * 1.5 for name, weight in load_file(file).items()}, file, {"format": "pt"})
        for name, run in zip(("one", "two"), runs, strict=True):
            publish(run, "policy", folder / "players" / f"{name}.json")
        publish(runs[0], "policy-sft", folder / "players" / "before.json")
    return Trained(folder, runs)


def submitted(trained: Trained, here: Path, how: str = "reflect-rl") -> tuple[Path, str]:
    """Return the entry of a player, and the agent that it is audited with."""
    if not (made := trained.folder / how).exists():
        entry_of(f"{how}:{trained.players}/one.json", made, deterministic=how == "reflect-rl")
    shutil.copytree(made / "submissions", here / "submissions")
    return here / "submissions" / PROTOCOL / "agent", f"{how}:{here}/players/one.json"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trained: Trained) -> Path:
    """A folder to run in, with the agents and copies of the players."""
    shutil.copy(AGENTS, tmp_path)
    shutil.copytree(trained.players, tmp_path / "players")
    sys.modules.pop("forging", None)
    monkeypatch.chdir(tmp_path)
    return tmp_path


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
    [
        changed_weights,
        *(pytest.param(each, marks=pytest.mark.slow) for each in (a_link_to_a_player, files_of_others)),
        *(pytest.param(each, marks=pytest.mark.slow) for each in (another_reflector, another_player)),
        pytest.param(the_policy_before_rl, marks=pytest.mark.slow),
    ],
    ids=lambda change: change.__name__,
)
def test_a_player_that_was_changed_after_its_entry_is_refused(
    here: Path, trained: Trained, change: Callable[[Path], str]
) -> None:
    entry, agent = submitted(trained, here)
    says = change(here)
    with pytest.raises(UsageError, match=says):
        audit(entry, agent, "beacon")
    assert ranks(here / "submissions") == {"agent": None}


@pytest.mark.slow
def test_a_player_is_ranked_as_it_was_published_and_not_as_it_was_trained(here: Path, trained: Trained) -> None:
    published = f"reflect-rl:{here}/players/one.json"
    entry = entry_of(f"reflect-rl:{trained.runs[0]}", here, deterministic=True)
    assert "the entry played the checkpoint SHA-256" in judged(entry, published)
    assert ranks(here / "submissions") == {"agent": None}
    shutil.rmtree(here / "submissions")
    assert judged(*submitted(trained, here)) == ""
    assert ranks(here / "submissions") == {"agent": 1}


@pytest.mark.slow
def test_a_recording_of_ones_own_under_the_checkpoint_of_another_is_not_ranked(here: Path) -> None:
    victim = f"reflect-rl:{here}/players/one.json"
    entry = entry_of(planner("I am that model."), here, spec=victim, deterministic=True)
    problem = judged(entry, victim)  # by how sure the little trained model is
    assert re.search("actions of an agent that does not draw are other ones|are only all but as likely", problem)
    assert "this agent has none" in judged(entry, "forging:agreeable")
    assert ranks(here / "submissions") == {"agent": None}


@pytest.mark.slow
def test_draws_that_were_chosen_are_not_ranked_under_the_boards_loader(here: Path) -> None:
    agent = f"reflect-rl-sample:{here}/players/one.json"
    best = load_agent(f"reflect-rl:{here}/players/one.json")
    evaluate(best, PROTOCOL, out=here / "run", batch=1, source=provenance("entry point", agent))
    facts = here / "run" / "run.json"
    facts.write_text(json.dumps({**json.loads(facts.read_text()), "sampling": True}))
    entry = pack(here / "run", name="agent", out=here / "submissions")
    assert "the actions are more likely than draws are, by " in judged(entry, agent)
    assert ranks(here / "submissions") == {"agent": None}


@pytest.mark.slow
def test_files_that_no_digest_stands_for_say_nothing_of_chances(here: Path, trained: Trained) -> None:
    entry, agent = submitted(trained, here, "reflect-rl-sample")
    assert audit(entry, agent, "beacon").surprise is not None
    assert audit(entry, agent, "beacon", files=here / "players").surprise is None


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


def test_the_site_has_the_player_of_a_row(here: Path, trained: Trained) -> None:
    entry, _ = submitted(trained, here)
    shutil.copytree(here / "players", here / CHECKPOINTS.name)
    build(here / "submissions", here / "site")
    page = (here / "site" / "entries" / PROTOCOL / entry.name / "index.html").read_text()
    assert 'href="../../../../players/one.json"' in page
    assert not (here / "site" / "players" / "two.json").exists()
    players = [load_agent(f"reflect-rl:{folder}/one.json") for folder in (here / "players", here / "site" / "players")]
    one, other = (evaluate(each, PROTOCOL, episodes=3)[1] for each in players)
    assert one == other
