"""Loading of pretrained models (precision, 8 bits, device), LoRA adapters on them (PEFT), and the tiny Llama.

The players of a run may share one frozen base in memory, each with an adapter of its own. Before a player reads, it
takes its turn, which activates its adapter. PEFT makes an active adapter trainable, which a frozen player undoes. A
saved player is its adapter alone, in PEFT's format.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import logging
import platform
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, LlamaConfig, LlamaForCausalLM
from transformers.modeling_layers import GradientCheckpointingLayer

from natlang_envs.errors import UsageError
from reference_agent import processes
from reference_agent.config import ModelConfig

WEIGHTS = "adapter_model.safetensors"
INITIALIZER_RANGE = 0.08  # of the tiny Llama
_M_MMAP_THRESHOLD = -3  # of glibc's malloc.h
_SHARP = 10.0  # biases that make a head attend to one position: all others score about 12 lower
_BASE = "base.sha256"  # beside an adapter: which base it belongs to
# Settings that change logits after the head, which the players would leave out; 1 and None do nothing.
_BESIDE_HEAD = (
    *("logit_scale", "logits_scaling", "lm_head_multiplier", "logits_mup_width_multiplier"),
    *("final_logit_softcapping", "logits_soft_cap", "output_logit_soft_cap"),
)


def load_backbone(path: str | Path, config: ModelConfig) -> tuple[Any, Any]:
    """Return a causal LM and its tokenizer. Raises `UsageError` if it cannot be had in this way on this machine."""
    device = _device(config)
    options: dict[str, Any] = {"dtype": torch.bfloat16 if config.precision == "bf16" else torch.float32}
    if config.eight_bit:
        options |= _eight_bit(device)
    elif device != "cpu":
        options["device_map"] = {"": device}
    remedy = 'set model.precision = "bf16", or model.eight_bit = true'
    tokenizer = load_tokenizer(path)
    with _named(path), memory_advice("while loading the model", remedy):
        model = AutoModelForCausalLM.from_pretrained(path, **options)
    check_player(path, model, tokenizer)
    if config.gradient_checkpointing:
        checkpoint_gradients(path, model)
    return model, tokenizer


def check_player(name: str | Path, model: Any, tokenizer: Any) -> None:
    """Give the tokenizer a pad token if it has none.

    Raises `UsageError` if it has no end token, or the logits are not the last states times the head.
    """
    _check_head(name, model.config)
    if tokenizer.eos_token is None:
        raise UsageError(f"the tokenizer of {name} has no token that ends a text: set its eos_token")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token


def checkpoint_gradients(path: str | Path, model: Any) -> None:
    """Let layers recompute activations while they are `training`. Raises `UsageError` if they cannot."""
    if not any(isinstance(each, GradientCheckpointingLayer) for each in model.modules()):
        raise UsageError(f"{path} cannot compute its layers again: set model.gradient_checkpointing = false")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)  # the newer name is not in all versions that we allow
        model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    if model.device.type == "cpu" and platform.libc_ver()[0] == "glibc":
        # Its heap keeps what is freed, in pieces: a third of the peak. Blocks of a megabyte go back at once instead.
        ctypes.CDLL(None).mallopt(_M_MMAP_THRESHOLD, 1 << 20)


def checkpointed(model: Any) -> tuple[Any, ...]:
    """Return the layers that `checkpoint_gradients` has changed."""
    return tuple(
        each for each in model.modules() if isinstance(each, GradientCheckpointingLayer) and each.gradient_checkpointing
    )


def load_tokenizer(path: str | Path) -> Any:
    """Return a model's tokenizer. Raises `UsageError` if there is no such model."""
    with _named(path):
        return AutoTokenizer.from_pretrained(path)


def check_backbone(path: str | Path, config: ModelConfig) -> None:
    """Raise `UsageError` if a model's name or settings are wrong, as far as can be seen without loading it."""
    device = _device(config)
    if config.eight_bit:
        _eight_bit(device)
    with _named(path):
        settings = AutoConfig.from_pretrained(path)
    _check_head(path, settings)


def _check_head(path: str | Path, settings: Any) -> None:
    """Refuse a model whose logits are not its last states times its head."""
    for each in (settings, settings.get_text_config()):
        for name in _BESIDE_HEAD:
            value = getattr(each, name, None)
            if value not in (None, 1):
                raise UsageError(
                    f"{path} scales or caps its logits ({name} = {value}), which the players would leave out: use "
                    "another model"
                )


@contextmanager
def _named(path: str | Path) -> Iterator[None]:
    try:
        yield
    except UsageError:
        raise
    except (OSError, ValueError, KeyError) as error:
        raise UsageError(
            f"{path} holds no causal language model ({_first_line(error)}): train one, or name another: tiny, smollm2, "
            "a folder, a hub id"
        ) from None


def _device(config: ModelConfig) -> str:
    if config.device == "cpu" or (config.device == "auto" and not torch.cuda.is_available()):
        return "cpu"
    if not torch.cuda.is_available():
        raise UsageError('model.device = "cuda", but torch finds none: set it to "auto" or "cpu"')
    return f"cuda:{processes.gpu()}"


def _eight_bit(device: str) -> dict[str, Any]:
    """Return the arguments that load a model in 8 bits."""
    for package in ("bitsandbytes", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(
                f"model.eight_bit needs the package {package}: pip install 'natlang-envs[eight-bit]', or set "
                'model.eight_bit = false and model.precision = "bf16"'
            )
    # It tells of its casts at every layer of every step, and of a package for 4 bits.
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
    try:
        import bitsandbytes  # noqa: F401  # pyright: ignore[reportMissingImports, reportUnusedImport]
        from transformers import BitsAndBytesConfig
    except Exception as error:  # its native part fails in ways of its own where it has no build for the machine
        raise UsageError(
            f"bitsandbytes does not run here ({_first_line(error)}): set model.eight_bit = false and "
            'model.precision = "bf16"'
        ) from None
    return {"quantization_config": BitsAndBytesConfig(load_in_8bit=True), "device_map": {"": device}}


class Adapter:
    """A player's own weights on a base: a LoRA adapter, new (drawn by `seed`) or from the folder where it was saved.

    `beside` is an adapter that the base has already. `parameters` are its own weights in a fixed order, `base` the
    frozen ones below. Raises `UsageError` if the folder holds none for this base, or no layer has the given names.
    """

    def __init__(
        self, model: Any, beside: Adapter | None, name: str, config: ModelConfig, folder: Path | None, seed: int
    ) -> None:
        try:
            import peft
        except ImportError:
            raise UsageError("model.lora_rank needs the package peft: pip install 'natlang-envs[agent]'") from None
        if beside is None and any(".lora_" in path for path, _ in model.named_parameters()):
            raise ValueError("this base has a player: ask that player for one beside it")
        self.name = name
        self.frozen = False
        if folder is None:
            settings: Any = _settings(model, config)
        else:
            settings = _read(folder, lambda: peft.PeftConfig.from_pretrained(str(folder)))
        try:
            # PEFT draws from torch's own generator, which is left as it was.
            with torch.random.fork_rng(), warnings.catch_warnings():
                warnings.simplefilter("ignore")  # what PEFT calls in transformers is on its way out there
                torch.manual_seed(seed)
                if beside is None:
                    self._players = peft.get_peft_model(model, settings, adapter_name=name)
                else:
                    self._players = beside._players
                    self._players.add_adapter(name, settings)
        except ValueError as error:
            raise UsageError(
                f"model.lora_targets = {config.lora_targets!r} fits no layer: {_first_line(error)}"
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
                raise UsageError(
                    f"{folder} holds an adapter of another base model: use the one it was trained on"
                ) from None

    def take_turn(self) -> None:
        """Make this the adapter that the model computes with, and alone trainable unless it is frozen."""
        if self._players.active_adapter != self.name:
            self._players.set_adapter(self.name)
        if self.parameters[0].requires_grad == self.frozen:
            for weight in self.parameters:
                weight.requires_grad_(not self.frozen)

    def save(self, folder: Path) -> None:
        """Write the adapter's weights and settings, and which base they belong to."""
        from peft import get_peft_model_state_dict

        state = get_peft_model_state_dict(self._players, adapter_name=self.name, save_embedding_layers=False)
        save_file({key: value.contiguous() for key, value in state.items()}, folder / WEIGHTS)
        self._players.peft_config[self.name].save_pretrained(str(folder))
        (folder / _BASE).write_text(self._base_digest() + "\n", encoding="utf-8")

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


def _settings(model: Any, config: ModelConfig) -> Any:
    from peft import LoraConfig
    from transformers.pytorch_utils import Conv1D

    targets: Any = config.lora_targets
    if targets == "default":
        targets = None
    elif targets != "all-linear":
        targets = [each.strip() for each in targets.split(",")]
    return LoraConfig(
        r=config.lora_rank,
        lora_alpha=config.lora_alpha,
        lora_dropout=0.0,  # so that the policy that samples and the policy that learns are the same
        target_modules=targets,
        task_type="CAUSAL_LM",
        fan_in_fan_out=any(isinstance(module, Conv1D) for module in model.modules()),  # GPT-2's layers lie transposed
    )


def tiny_llama(config: ModelConfig, vocabulary: int, end: int) -> Any:
    """Return an untrained Llama of the config's sizes; torch's seed draws its weights."""
    # Rotary positions, because a path of another length moves all that follows: with GPT-2's learned positions a
    # model that compares coordinates at one place (100% right) is blind to them four tokens further on (0%).
    model = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=vocabulary,
            max_position_embeddings=config.positions,
            hidden_size=config.width,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            intermediate_size=config.inner,
            # At the usual 0.02 so small a model stays at chance on reading the labels for hundreds of steps.
            initializer_range=INITIALIZER_RANGE,
            tie_word_embeddings=True,
            attention_bias=config.mimetic,
            bos_token_id=end,
            eos_token_id=end,
            pad_token_id=end,
        )
    )
    if config.mimetic:
        _start_mimetic(model)
    return model


def _start_mimetic(model: Any) -> None:
    """Initialise attention to find and copy equal tokens; one head attends to the previous token.

    Together they find what followed an equal token before anything is learned. The first layer's head finds its
    position by its biases alone: the angle that a position adds to the fastest of its rotary pairs.
    """
    for layer in model.model.layers:
        attention = layer.self_attn
        attention.k_proj.weight.data.copy_(attention.q_proj.weight.data)
        attention.o_proj.weight.data.copy_(attention.v_proj.weight.data.T)
    first = model.model.layers[0].self_attn
    angles = model.model.rotary_emb.inv_freq
    pairs, fastest = len(angles), len(angles) // 2
    for projection in (first.q_proj, first.k_proj):
        projection.weight.data[: 2 * pairs] = 0.0
    first.k_proj.bias.data[:fastest] = _SHARP
    first.q_proj.bias.data[:fastest] = _SHARP * angles[:fastest].cos()
    first.q_proj.bias.data[pairs : pairs + fastest] = -_SHARP * angles[:fastest].sin()


def digest(weights: Iterable[Tensor]) -> str:
    """Return the SHA-256 of the bits of tensors, in order."""
    total = hashlib.sha256()
    for weight in weights:
        total.update(weight.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return total.hexdigest()


@contextmanager
def memory_advice(what: str, remedy: str) -> Iterator[None]:
    """Turn running out of memory while doing `what` (such as `"in RL"`) into a line that names the `remedy`."""
    try:
        yield
    except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
        # torch has no class of its own for the CPU's memory.
        full = not isinstance(error, RuntimeError) or isinstance(error, torch.OutOfMemoryError)
        if not full and "not enough memory" not in str(error) and "can't allocate memory" not in str(error):
            raise
        raise UsageError(f"out of memory {what}: {remedy}") from None


def _read(folder: Path, read: Any) -> Any:
    try:
        return read()
    except Exception as error:  # safetensors and PEFT raise classes of their own
        raise UsageError(f"{folder} is damaged or holds no adapter ({_first_line(error)}): train it again") from None


def _first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
