"""Trained players as files that a repository can hold: weights in 6 bits, adapters in 4, played as they are published.

Each row of a matrix is kept as whole numbers of -31 to 31 and one scale; vectors stay as they are. Compressed, two
players of a million weights take 1.5 MB; 8 bits would take a third more. An adapter is a small change of weights that
stay as they are: -5 to 5 do, with a scale for each of its ranks, and two of rank 16 on SmolLM2 take 4.7 MB. Rounding
makes a published player another agent than the run that it comes from, so it is evaluated for itself.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from natlang_envs.errors import UsageError, require_choice
from natlang_envs.evaluation import published
from reference_agent.run.players import Players
from reference_agent.run.stages import CONFIG, POLICIES, read_config

_SCALE = ".scale"
_WEIGHTS = ".safetensors"
_ADAPTER = "adapter_model.safetensors"
_LARGEST, _LARGEST_OF_ADAPTER = 31, 5
# The setting "auto" is bf16 where that is faster: there it would be another agent than the one that was recorded.
_WHATEVER_THE_MACHINE = (b'"precision": "auto"', b'"precision": "fp32"')
# What `LanguageModel.save` writes: nothing else is published or read, no code in particular.
_PLAYER_FILES = frozenset(
    {
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "chat_template.jinja",
        "adapter_config.json",
        _ADAPTER,
        "base.sha256",
    }
)


def publish(run: Path, policy: str, player: Path) -> Path:
    """Write the players of a run, with one of its `POLICIES`, as the published player NAME.json, and return that file.

    Weights go to `files/` beside it.
    """
    config = read_config(run, to_play=True)
    if config.state:
        raise UsageError(f"p(s) is composed by {config.state}, which a published player does not hold: use history")
    # Loaded once, so that what could not be played is not published; on whatever machine.
    Players.load(run, policy, replace(config, model=replace(config.model, device="cpu", eight_bit=False)))
    folders = [policy]
    if config.reflect and config.players != "one":
        folders.append("reflector")
    if config.model.is_tiny and config.model.lora_rank:
        folders.append("base")
    contents = {CONFIG: (run / CONFIG).read_bytes()}
    for folder in folders:
        for file in sorted((run / folder).iterdir()):
            if file.name in _PLAYER_FILES:
                content = file.read_bytes()
                contents[f"{folder}/{file.name}"] = rounded(content, file) if file.suffix == _WEIGHTS else content
    return published.publish(player, policy, contents)


def unpack(player: Path, run: Path) -> str:
    """Write a published player's files as those of a run, and return the name of its policy."""
    policy, files = published.published_files(player)
    for name, file in files.items():
        folder, _, last = name.rpartition("/")
        if name != CONFIG and (last not in _PLAYER_FILES or folder not in (policy, "reflector", "base")):
            raise UsageError(f"{player} names {name}, which is no file of a player")
        (run / folder).mkdir(exist_ok=True)
        content = published.unpacked(file)
        if name == CONFIG:
            content = content.replace(*_WHATEVER_THE_MACHINE)
        (run / name).write_bytes(read_rounded(content, file) if name.endswith(_WEIGHTS) else content)
    require_choice(f"policy of {player}", policy[:40], POLICIES)
    return policy


def rounded(weights: bytes, file: Path) -> bytes:
    of_adapter = file.name == _ADAPTER
    largest = _LARGEST_OF_ADAPTER if of_adapter else _LARGEST
    packed: dict[str, torch.Tensor] = {}
    for name, weight in load(weights).items():
        if not bool(weight.isfinite().all()):
            raise UsageError(f"{file} has weights that are not finite: train again")
        if weight.ndim < 2:
            packed[name] = weight.float()
            continue
        across = -2 if of_adapter and weight.shape[-1] < weight.shape[-2] else -1  # ranks are few
        scale = weight.float().abs().amax(dim=across, keepdim=True).clamp(min=1e-12) / largest
        packed[name] = (weight.float() / scale).round().to(torch.int8)
        packed[name + _SCALE] = scale
    return save(packed, {"format": "pt"})


def read_rounded(packed: bytes, file: Path) -> bytes:
    """Return the content of the safetensors file that `rounded` packed."""
    try:
        read = load(packed)
        weights: dict[str, torch.Tensor] = {}
        for name, weight in read.items():
            if weight.dtype == torch.int8:
                weights[name] = weight.float() * read[name + _SCALE]
            elif not name.endswith(_SCALE):
                weights[name] = weight.float()
    except (SafetensorError, KeyError, RuntimeError):
        raise UsageError(f"{file} holds no weights of a published player: publish the player again") from None
    if not all(bool(weight.isfinite().all()) for weight in weights.values()):
        raise UsageError(f"{file} has weights that are not finite: train again")
    return save(weights, {"format": "pt"})
