"""LoRA adapters (PEFT): players of a run may share one frozen base in memory, each with an adapter of its own.

Before a player reads, it takes its turn, which activates its adapter. PEFT makes an active adapter trainable, which a
frozen player undoes. A saved player is its adapter alone, in PEFT's format.
"""

from __future__ import annotations

import hashlib
import re
import warnings
from collections.abc import Iterable
from copy import deepcopy
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from natlang_envs.errors import UsageError
from reference_agent.models.backbone import first_line
from reference_agent.run.config import ModelConfig

WEIGHTS = "adapter_model.safetensors"
_BASE = "base.sha256"  # beside an adapter: which base it belongs to
_PLAYERS, _BARE = "_natlang_players", "_natlang_bare"  # beside a base: PEFT's model of it; whether adapters are off


class Adapter:
    """A player's own weights on a base: a LoRA adapter, new (drawn by `seed`) or from the folder where it was saved.

    `parameters` are its own weights in a fixed order, `base` the frozen ones below.
    """

    def __init__(self, model: Any, name: str, config: ModelConfig, folder: Path | None, seed: int) -> None:
        try:
            import peft
        except ImportError:
            raise UsageError("model.lora_rank needs the package peft: pip install 'natlang-envs[agent]'") from None
        self.name, self.frozen, self._model = name, False, model
        self._players: Any = vars(model).get(_PLAYERS)
        if self._players is not None and name in self._players.peft_config:
            raise UsageError(f"this base has an adapter {name!r} already: give the new one another name")
        if folder is None:
            settings = _settings(model, config)
        else:
            settings = _read(folder, lambda: peft.PeftConfig.from_pretrained(str(folder)))
        _check_targets(model, settings)
        try:
            # PEFT draws from torch's own generator, which is left as it was.
            with torch.random.fork_rng(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what PEFT calls in transformers is on its way out there
                torch.manual_seed(seed)
                if self._players is None:
                    # Kept out of the model's modules, as it holds the model.
                    self._players = vars(model)[_PLAYERS] = peft.get_peft_model(model, settings, adapter_name=name)
                else:
                    self._players.add_adapter(name, settings)
        except ValueError as error:
            raise UsageError(
                f"model.lora_targets = {config.lora_targets!r} fits no layer: {first_line(error)}"
            ) from None
        mine = re.compile(rf"\.lora_\w+\.{re.escape(name)}(\.|$)")
        weights = list(model.named_parameters())
        self.parameters: list[torch.nn.Parameter] = [weight for path, weight in weights if mine.search(path)]
        self.base: list[torch.nn.Parameter] = [weight for path, weight in weights if ".lora_" not in path]
        self._embedding = model.get_input_embeddings().weight
        if folder is not None:
            try:
                self.restore(folder)
            except RuntimeError:
                raise UsageError(f"{folder} holds an adapter of another base: use the one it was trained on") from None

    def take_turn(self) -> None:
        """Make this the adapter that the model computes with, and alone trainable unless it is frozen."""
        if (own := self.parameters[0].device) != (below := self._model.device):
            raise UsageError(
                f"the adapter {self.name!r} is on {own} and its base on {below}: load the base where both are to be, "
                "with ModelConfig(device=...), and then make the adapter"
            )
        if vars(self._model).pop(_BARE, False):
            self._players.base_model.enable_adapter_layers()
        if self._players.active_adapter != self.name:
            self._players.set_adapter(self.name)
        if self.parameters[0].requires_grad == self.frozen:
            for weight in self.parameters:
                weight.requires_grad_(not self.frozen)

    def save(self, folder: Path) -> None:
        from peft import get_peft_model_state_dict

        state = get_peft_model_state_dict(self._players, adapter_name=self.name, save_embedding_layers=False)
        save_file({key: value.contiguous() for key, value in state.items()}, folder / WEIGHTS)
        self._players.peft_config[self.name].save_pretrained(str(folder))
        (folder / _BASE).write_text(self._base_digest() + "\n", encoding="utf-8")

    def merged(self) -> Any:
        """Return a copy of the base into whose weights the adapter is added. Raises `UsageError` in 8 bits."""
        if getattr(self._model, "is_quantized", False):
            raise UsageError("an adapter cannot be added to a base in 8 bits: load it with model.eight_bit = false")
        players = deepcopy(self._players)
        players.base_model.enable_adapter_layers()
        players.base_model.model.float()  # in 16 bits most of the adapter would be rounded away
        model = players.base_model.merge_and_unload(adapter_names=[self.name])
        for name in (_PLAYERS, _BARE):
            vars(model).pop(name, None)
        return model

    def restore(self, folder: Path) -> None:
        """Read what `save` wrote. Raises `RuntimeError` for another base's, `UsageError` for damaged weights."""
        from peft import set_peft_model_state_dict

        state = _read(folder, lambda: load_file(folder / WEIGHTS))
        if _read(folder, lambda: (folder / _BASE).read_text(encoding="utf-8").strip()) != self._base_digest():
            raise RuntimeError(f"{folder} belongs to another base")
        result = set_peft_model_state_dict(self._players, state, adapter_name=self.name)
        if result.unexpected_keys or any(f".{self.name}." in key for key in result.missing_keys):
            raise RuntimeError(f"{folder} has other weights")

    def _base_digest(self) -> str:
        # The embedding tells models apart, and in bf16 it is the same whatever the precision of the rest.
        return digest([self._embedding.detach().to(torch.bfloat16)])


def check_adapter(model: Any, config: ModelConfig) -> None:
    """Raise `UsageError` if a model, which may be without its weights, cannot have an adapter of these settings."""
    if config.lora_rank:
        Adapter(model, "check", config, None, 0)


def without_adapters(model: Any) -> None:
    """Let a base compute as it did before players put adapters on it."""
    if _PLAYERS in vars(model) and not vars(model).get(_BARE):
        vars(model)[_PLAYERS].base_model.disable_adapter_layers()
        vars(model)[_BARE] = True


def _check_targets(model: Any, settings: Any) -> None:
    """Refuse an adapter on the head, whose rows are read without one."""
    head = next(path for path, module in model.named_modules() if module is model.get_output_embeddings())
    targets, named = settings.target_modules or (), [*(settings.modules_to_save or ())]
    fits = isinstance(targets, str) and re.fullmatch(targets, head)
    named += [] if isinstance(targets, str) else targets
    if fits or any(f".{head}".endswith(f".{each}") for each in named):
        raise UsageError(f"model.lora_targets names the head, which players read without adapters: leave {head!r} out")


def _settings(model: Any, config: ModelConfig) -> Any:
    from peft import LoraConfig
    from transformers.pytorch_utils import Conv1D

    if not config.lora_rank:
        raise UsageError("an adapter needs a rank: set model.lora_rank, for example ModelConfig(lora_rank=16)")
    listed = [each.strip() for each in config.lora_targets.split(",")]
    targets = {"default": None, "all-linear": "all-linear"}.get(config.lora_targets, listed)
    return LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.lora_alpha,
        lora_dropout=0.0,  # so that the policy that samples and the policy that learns are the same
        target_modules=targets,
        task_type="CAUSAL_LM",
        fan_in_fan_out=any(isinstance(module, Conv1D) for module in model.modules()),  # GPT-2's layers lie transposed
    )


def digest(weights: Iterable[Tensor]) -> str:
    """Return the SHA-256 of the bits of tensors, in order."""
    total = hashlib.sha256()
    for weight in weights:
        total.update(weight.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


def _read(folder: Path, read: Any) -> Any:
    try:
        return read()
    except Exception as error:  # safetensors and PEFT raise classes of their own
        raise UsageError(f"{folder} is damaged or holds no adapter ({first_line(error)}): train it again") from None
