"""Loading of pretrained models (precision, 8 bits, device), and what is refused before one is loaded."""

from __future__ import annotations

import ctypes
import importlib.util
import logging
import os
import platform
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers.cache_utils import DynamicCache
from transformers.modeling_layers import GradientCheckpointingLayer
from transformers.models.auto.configuration_auto import AutoConfig
from transformers.models.auto.modeling_auto import AutoModelForCausalLM
from transformers.models.auto.tokenization_auto import AutoTokenizer

from natlang_envs.errors import UsageError
from natlang_envs.files import whole_folder
from reference_agent import processes
from reference_agent.run.config import ModelConfig, settled_precision

_SYSTEM_ERROR = re.compile(r"\(os error (\d+)\)")
_M_MMAP_THRESHOLD = -3  # of glibc's malloc.h
_LOADING = "while loading the model", 'set model.precision = "bf16", or model.eight_bit = true'
OTHER = "use another model, such as a Llama, Qwen or GPT-2"
# Settings that change logits after the head, which the players would leave out; 1 and None do nothing.
_BESIDE_HEAD = (
    *("logit_scale", "logits_scaling", "lm_head_multiplier", "logits_mup_width_multiplier"),
    *("final_logit_softcapping", "logits_soft_cap", "output_logit_soft_cap"),
)
# PEFT imports it where it is installed; it tells of its casts at every layer of every step, and of a lacking package.
logging.getLogger("bitsandbytes").setLevel(logging.ERROR)


def load_backbone(path: str | Path, config: ModelConfig) -> tuple[Any, Any]:
    """Return a causal LM and its tokenizer. Raises `UsageError` if it cannot be had in this way on this machine."""
    device = check_device(config)
    dtype = torch.bfloat16 if settled_precision(config.precision, device) == "bf16" else torch.float32
    options: dict[str, Any] = {"dtype": dtype}
    if device != "cpu" or config.eight_bit:
        options["device_map"] = {"": device}
    if config.eight_bit:
        options["quantization_config"] = _eight_bit()
    tokenizer = load_tokenizer(path)
    with _named(path), memory_advice(*_LOADING):
        model = AutoModelForCausalLM.from_pretrained(path, **options)
    check_player(path, model, tokenizer)
    if config.gradient_checkpointing:
        checkpoint_gradients(path, model)
    return model, tokenizer


def check_player(name: str | Path, model: Any, tokenizer: Any) -> None:
    """Switch dropout off, and give the tokenizer a pad token if it has none."""
    if not hasattr(tokenizer, "eos_token"):
        raise UsageError(f"{name} comes with {tokenizer!r} as its tokenizer: give the one of transformers")
    if getattr(model, "peft_config", None):
        raise UsageError(
            f"{name} has PEFT adapters already: merge them with merge_and_unload(), or give their folder to "
            "LanguageModel.with_adapter on the plain base"
        )
    _check_head(name, model.config)
    model.eval()
    if not _reads_in_parts(model):
        unread = f"{name} ({model.config.model_type}) does not read by positions, a mask and a cache of keys and values"
        raise UsageError(f"{unread}, as players do: {OTHER}")
    if tokenizer.eos_token is None:
        raise UsageError(f"the tokenizer of {name} has no token that ends a text: set its eos_token")
    if tokenizer.pad_token_id is None:
        tokenizer.pad_token = tokenizer.eos_token


@torch.no_grad()
def _reads_in_parts(model: Any) -> bool:
    """Return whether a model says the same of a text in parts: a cached prefix, then two branches side by side."""
    head = model.get_output_embeddings()
    if head is None:
        return False
    # The text is 0 1 2 3 4; behind its first two tokens stands a branch 5 5, which the others do not see.
    cache, device = DynamicCache(), model.device
    text, branches = (torch.tensor([each], device=device) % len(head.weight) for each in (range(5), [5, 5, 2, 3, 4]))
    sees = torch.ones(5, 7, dtype=torch.bool).tril(2)
    sees[2:, 2:4] = False
    mask = torch.zeros(1, 1, 5, 7).masked_fill(~sees, torch.finfo(model.dtype).min).to(device, model.dtype)
    places, kept = torch.tensor([[2, 3, 2, 3, 4]], device=device), {"past_key_values": cache, "use_cache": True}
    try:
        with memory_advice(*_LOADING):
            whole = model(text).logits[0, -1].float()
            model.base_model(text[:, :2], **kept)
            said = model.base_model(branches, attention_mask=mask, position_ids=places, **kept)
            in_parts = head(said.last_hidden_state[0, -1]).float()
    except UsageError:  # the memory says nothing of the architecture
        raise
    except Exception:  # whatever an architecture raises where it knows no such thing
        return False
    exact = model.dtype == torch.float32 and not getattr(model, "is_quantized", False)
    return bool((in_parts - whole).std() <= (1e-3 if exact else 0.1) * whole.std())


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
    return tuple(
        each for each in model.modules() if isinstance(each, GradientCheckpointingLayer) and each.gradient_checkpointing
    )


def load_tokenizer(path: str | Path) -> Any:
    """Return a model's tokenizer. Raises `UsageError` if there is no such model, or it has none."""
    with _named(path, "tokenizer" if (Path(path) / "config.json").is_file() else "causal language model"):
        return AutoTokenizer.from_pretrained(path)


def check_backbone(path: str | Path, config: ModelConfig) -> Any:
    """Return a model without its weights, on the device `"meta"`; nothing is loaded."""
    check_device(config)
    if config.eight_bit:
        _eight_bit()
    with _named(path):
        settings = AutoConfig.from_pretrained(path)
        _check_head(path, settings)
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(settings)


def _check_head(path: str | Path, settings: Any) -> None:
    """Refuse a model whose logits are not its last states times its head."""
    for each, name in product((settings, settings.get_text_config()), _BESIDE_HEAD):
        if (value := getattr(each, name, None)) not in (None, 1):
            changed = f"{path} scales or caps its logits ({name} = {value})"
            raise UsageError(f"{changed}, which the players would leave out: use another model")


@contextmanager
def _named(path: str | Path, what: str = "causal language model") -> Iterator[None]:
    try:
        yield
    except UsageError:
        raise
    except (OSError, ValueError, KeyError, SafetensorError) as error:
        for file in Path(path).glob("*"):
            if not os.access(file, os.R_OK):  # to the libraries, a file that may not be read is none
                raise UsageError(f"{file} may not be read: give all users leave to, with chmod") from None
        again = f"{'make or fetch it again' if Path(path).is_dir() else 'train one'}, or name another"
        said = f"{path} holds no {what} ({first_line(error)}): {again}: tiny, smollm2, a folder, a hub id"
        raise UsageError(said) from None


def check_device(config: ModelConfig) -> str:
    """Return the device of a model. Raises `UsageError` if there is none such."""
    if config.device == "cpu" or (config.device == "auto" and not torch.cuda.is_available()):
        return "cpu"
    if not torch.cuda.is_available():
        raise UsageError('model.device = "cuda", but torch finds none: set it to "auto" or "cpu"')
    return f"cuda:{processes.gpu()}"


def _eight_bit() -> Any:
    for package in ("bitsandbytes", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise UsageError(
                f"model.eight_bit needs the package {package}: pip install 'natlang-envs[eight-bit]', or set "
                'model.eight_bit = false and model.precision = "bf16"'
            )
    try:
        import bitsandbytes  # noqa: F401  # pyright: ignore[reportMissingImports, reportUnusedImport]
        from transformers.utils.quantization_config import BitsAndBytesConfig
    except Exception as error:  # its native part fails in ways of its own where it has no build for the machine
        raise UsageError(
            f"bitsandbytes does not run here ({first_line(error)}): set model.eight_bit = false and "
            'model.precision = "bf16"'
        ) from None
    return BitsAndBytesConfig(load_in_8bit=True)


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


def finished(folder: Path, make: Callable[[Path], None]) -> Path:
    """Return `folder`, made by `make` in a place beside it and renamed when whole, unless it is there already.

    Who may read the folder may read its files: safetensors writes them for their owner alone, and an audit's agent runs
    as another user.
    """
    if not folder.exists():
        with whole_folder(folder, keep=True) as unfinished, disk_errors():
            make(unfinished)
            for each in unfinished.rglob("*"):
                each.chmod(each.stat().st_mode | unfinished.stat().st_mode & 0o444)
    return folder


@contextmanager
def disk_errors() -> Iterator[None]:
    """Turn what safetensors raises where the disk fails, which is an error of its own, into the system's `OSError`."""
    try:
        yield
    except SafetensorError as error:
        if (number := _SYSTEM_ERROR.search(str(error))) is None:
            raise
        raise OSError(int(number[1]), os.strerror(int(number[1]))) from None


def first_line(error: Exception) -> str:
    return (str(error).strip() or type(error).__name__).splitlines()[0]
