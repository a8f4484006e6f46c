"""A published player plays as it is published, takes little room, and is refused if anything of it is another."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import load, save

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import evaluate, load_agent
from natlang_envs.evaluation.published import published_files
from reference_agent.players import PlayersAgent
from reference_agent.run.agent import trained_agent
from reference_agent.run.published import publish, read_rounded, rounded, unpack
from reference_agent.tiny.making import tiny_folder

PROTOCOL = "dangerous-taxi-pickup/v1"
ADAPTER = "adapter_model.safetensors"


@pytest.fixture
def player(trained: Path, tmp_path: Path) -> Path:
    return publish(trained, "policy", tmp_path / "players" / "both.json")


def test_a_player_plays_as_it_was_published(trained: Path, player: Path, tmp_path: Path) -> None:
    folder = tmp_path / "unpacked"
    folder.mkdir()
    assert unpack(player, folder) == "policy"
    whole = load((trained / "policy" / "model.safetensors").read_bytes())
    for name, weight in load((folder / "policy" / "model.safetensors").read_bytes()).items():
        step = whole[name].abs().amax(-1, keepdim=True) / 31
        assert bool(((weight - whole[name]).abs() <= 0.51 * step).all())
    loaded, again = load_agent(f"reflect-rl:{player}"), trained_agent(folder)
    _, episodes = evaluate(loaded, PROTOCOL, episodes=5)
    assert episodes == evaluate(again, PROTOCOL, episodes=5)[1]
    _, drawn = evaluate(load_agent(f"reflect-rl-sample:{player}"), PROTOCOL, episodes=5)
    assert drawn == evaluate(again.sampled(), PROTOCOL, episodes=5)[1]
    # Rounding what is rounded changes nothing, so a published player can be published again.
    for _ in range(2):
        assert publish(folder, "policy", tmp_path / "again.json").read_bytes() == player.read_bytes()


def test_a_player_computes_alike_on_every_machine(
    trained: Path, player: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cpu, "_is_amx_tile_supported", lambda: True)
    here, expected = tmp_path / "here", load_agent(f"reflect-rl:{player}")
    shutil.copytree(trained, here)
    settings = (here / "settings.json").read_text()
    (here / "settings.json").write_text(settings.replace('"precision": "fp32"', '"precision": "auto"'))
    loaded = load_agent(f"reflect-rl:{publish(here, 'policy', tmp_path / 'auto' / 'both.json')}")
    assert isinstance(loaded, PlayersAgent)
    assert {each.dtype for each in loaded._policy.model.parameters()} == {torch.float32}
    assert evaluate(loaded, PROTOCOL, episodes=3)[1] == evaluate(expected, PROTOCOL, episodes=3)[1]


def test_another_players_file_and_any_other_are_not_written_over(trained: Path, player: Path) -> None:
    before, notes = player.read_bytes(), player.with_name("notes.json")
    notes.write_text("{}")
    for file, policy in ((player, "policy-sft"), (notes, "policy")):
        with pytest.raises(UsageError, match=f"{file.name} is there already and is not this player: choose another"):
            publish(trained, policy, file)
    assert (player.read_bytes(), notes.read_text()) == (before, "{}")


def test_players_share_what_they_have_in_common(trained: Path, player: Path) -> None:
    alone = set((player.parent / "files").iterdir())
    publish(trained, "policy-sft", player.with_name("before.json"))
    more = set((player.parent / "files").iterdir()) - alone
    assert [name for name, file in published_files(player.with_name("before.json"))[1].items() if file in more] == [
        "policy-sft/model.safetensors"
    ]


def test_two_players_of_a_million_weights_take_a_megabyte_and_a_half() -> None:
    weights = tiny_folder() / "model.safetensors"
    assert 2 * len(gzip.compress(rounded(weights.read_bytes(), weights))) * 992_128 / 874_112 <= 1.5e6


def test_two_adapters_of_rank_16_on_smollm2_take_less_than_five_megabytes() -> None:
    shapes = [(16, 576)] * 6 + [(16, 1536)] + [(576, 16)] * 3 + [(192, 16)] * 2 + [(1536, 16)] * 2
    layer = {str(number): torch.rand(shape) - 0.5 for number, shape in enumerate(shapes)}
    assert sum(each.numel() for each in layer.values()) == 162_816  # of each of 30 layers
    assert 2 * 30 * len(gzip.compress(rounded(save(layer), Path(ADAPTER)))) <= 5e6


@given(
    st.sampled_from([("model.safetensors", 31), (ADAPTER, 5)]),
    st.integers(1, 40),
    st.integers(1, 40),
    st.integers(0, 2**31),
    st.floats(-30, 30),
)
def test_rounding_keeps_shapes_and_is_stable(
    kind: tuple[str, int], rows: int, columns: int, seed: int, size: float
) -> None:
    generator, file = torch.Generator().manual_seed(seed), Path(kind[0])
    weights = {"m": torch.randn(rows, columns, generator=generator) * 10**size, "v": torch.randn(columns)}
    once = read_rounded(rounded(save(weights), file), file)
    across = -2 if file.name == ADAPTER and columns < rows else -1
    step = weights["m"].abs().amax(across, keepdim=True).clamp(min=1e-12) / kind[1]
    assert bool(((load(once)["m"] - weights["m"]).abs() <= 0.51 * step).all())
    assert [load(once)[name].shape for name in weights] == [each.shape for each in weights.values()]
    assert torch.equal(load(once)["v"], weights["v"])
    twice = load(read_rounded(rounded(once, file), file))["m"]
    assert torch.allclose(twice, load(once)["m"], rtol=1e-6, atol=0)


def _named(player: Path) -> dict[str, str]:
    return json.loads(player.read_text())["files"]


def _store(player: Path, name: str, packed: bytes) -> None:
    """Put another file under a name, with the SHA-256 that fits."""
    digest = hashlib.sha256(packed).hexdigest()
    (player.parent / "files" / f"{digest}.gz").write_bytes(packed)
    told = json.loads(player.read_text())
    told["files"][name] = digest
    player.write_text(json.dumps(told))


def another_weight(player: Path) -> None:
    file = player.parent / "files" / f"{_named(player)['policy/model.safetensors']}.gz"
    file.write_bytes(gzip.compress(gzip.decompress(file.read_bytes())[:-1] + b"\x05", mtime=0))


def a_link(player: Path) -> None:
    file = player.parent / "files" / f"{_named(player)['policy/config.json']}.gz"
    file.rename(player.parent / "elsewhere")
    file.symlink_to(player.parent / "elsewhere")


def gone(player: Path) -> None:
    (player.parent / "files" / f"{_named(player)['reflector/model.safetensors']}.gz").unlink()


def out_of_the_folder(player: Path) -> None:
    player.write_text(player.read_text().replace('"policy/config.json"', '"../policy/config.json"'))


def code(player: Path) -> None:
    _store(player, "policy/modeling.py", gzip.compress(b"raise SystemExit"))


def named_twice(player: Path) -> None:
    player.write_text(player.read_text().replace('"policy": ', '"policy": "policy-sft", "policy": ', 1))


def bomb(player: Path) -> None:
    _store(player, "policy/model.safetensors", gzip.compress(bytes(200 << 20), 9))


def pickled(player: Path) -> None:
    _store(player, "policy/model.safetensors", gzip.compress(b"\x80\x04cos\nsystem\n(S'true'\ntR."))


def something_behind(player: Path) -> None:
    file = player.parent / "files" / f"{_named(player)['policy/config.json']}.gz"
    _store(player, "policy/config.json", file.read_bytes() + b"more")


def not_finite(player: Path) -> None:
    file = player.parent / "files" / f"{_named(player)['policy/model.safetensors']}.gz"
    weights = load(gzip.decompress(file.read_bytes()))
    name = next(each for each in weights if each.endswith(".scale"))
    weights[name][0] = float("inf")
    _store(player, "policy/model.safetensors", gzip.compress(save(weights)))


def without_scales(player: Path) -> None:
    file = player.parent / "files" / f"{_named(player)['policy/model.safetensors']}.gz"
    weights = {name: each for name, each in load(gzip.decompress(file.read_bytes())).items() if ".scale" not in name}
    _store(player, "policy/model.safetensors", gzip.compress(save(weights)))


def another_policy(player: Path) -> None:
    player.write_text(player.read_text().replace('"policy": "policy"', '"policy": "reflector"'))


def no_json(player: Path) -> None:
    player.write_text("{")


REFUSED: dict[Callable[[Path], None], str] = {
    another_weight: "has not the SHA-256 of its name: it was changed, or is damaged",
    a_link: "is missing or is no plain file",
    gone: "is missing: for a player of the board",
    out_of_the_folder: r"names '\.\./policy/config.json', which is no file of a player",
    code: "names policy/modeling.py, which is no file of a player",
    named_twice: r"is no published player \(it says .* twice\): make one with `reflect-rl publish`",
    bomb: "is no gzip file of at most 64 MiB: publish the player again",
    pickled: "holds no weights of a published player: publish the player again",
    something_behind: "is no gzip file of at most 64 MiB",
    not_finite: "has weights that are not finite: train again",
    without_scales: "holds no weights of a published player",
    another_policy: "names policy/config.json, which is no file of a player",
    no_json: r"is no published player \(.*\): make one with `reflect-rl publish`",
}


@pytest.mark.parametrize("change", REFUSED, ids=lambda change: change.__name__)
def test_a_player_of_which_anything_was_changed_is_refused_in_one_line(
    player: Path, change: Callable[[Path], None]
) -> None:
    change(player)
    with pytest.raises(UsageError, match=REFUSED[change]) as told:
        load_agent(f"reflect-rl:{player}")
    assert "\n" not in str(told.value)


def test_a_run_whose_training_has_not_ended_cannot_be_published(trained: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="policy-other is missing: finish training with"):
        publish(trained, "policy-other", tmp_path / "x.json")


def _without_weights(run: Path) -> None:
    (run / "reflector" / "model.safetensors").unlink()


def _cut(run: Path) -> None:
    weights = run / "policy" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1000])


def _without_settings(run: Path) -> None:
    (run / "policy" / "config.json").unlink()


@pytest.mark.parametrize("damage", [_without_weights, _cut, _without_settings])
def test_a_damaged_run_is_not_published(damage: Callable[[Path], None], trained: Path, tmp_path: Path) -> None:
    broken = tmp_path / "run"
    shutil.copytree(trained, broken)
    damage(broken)
    with pytest.raises(UsageError, match=r"(policy|reflector) holds no causal language model"):
        publish(broken, "policy", tmp_path / "player.json")
    assert not (tmp_path / "player.json").exists()
