"""Turns texts into vectors with a small BERT encoder, and keeps the vectors in a cache folder.

The vector of a text is the mean of its tokens' last hidden states, scaled to length 1, as sentence-transformers does.
Vectors are kept by the digest of their text, so a changed repository asks only for what has changed; a cache file that
another model wrote is refused.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch

from natlang_envs.errors import UsageError

Vectors = npt.NDArray[np.float32]
WINDOW = 500  # characters of a file's text that make one vector
LONGEST = 160  # tokens of a text that are read
_BATCH = 64
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MARKS = re.compile(r"[_\-./\\\s]+")


def spoken(path: str) -> str:
    """Return a path as words: `src/retryMiddleware.py` is read as `src retry Middleware py`."""
    return _MARKS.sub(" ", _CAMEL.sub(" ", path)).strip()


def windows(text: str) -> list[str]:
    """Return a shown text in pieces of about `WINDOW` characters, cut at ends of lines where possible."""
    pieces: list[str] = []
    while text.strip():
        cut = len(text) if len(text) <= WINDOW else text.rfind("\n", WINDOW // 2, WINDOW) + 1 or WINDOW
        if text[:cut].strip():
            pieces.append(text[:cut])
        text = text[cut:]
    return pieces


def key(text: str) -> bytes:
    """Return what a text's vector is kept by."""
    return hashlib.blake2b(text.encode("utf-8", "backslashreplace"), digest_size=12).digest()


class Encoder:
    """A BERT encoder and the vectors it has made.

    Args:
        model: A `transformers` BERT model.
        tokenizer: Its tokenizer.
        name: What tells this encoder's vectors from another's: a digest of its weights.
    """

    def __init__(self, model: Any, tokenizer: Any, name: str) -> None:
        self.model = model.eval()
        self.tokenizer = tokenizer
        self.name = name
        self.width = int(model.config.hidden_size)
        self._kept: dict[bytes, npt.NDArray[np.float16]] = {}

    @classmethod
    def load(cls, folder: Path) -> Encoder:
        """Return the encoder of a folder as `transformers` writes it."""
        from transformers import AutoTokenizer, BertModel
        from transformers.utils import logging

        weights = folder / "model.safetensors"
        if not weights.is_file():
            raise UsageError(f"no encoder in {folder}: run reflect-rl models fetch minilm")
        logging.set_verbosity_error()  # the pooler of the file is not used, and that is no news
        logging.disable_progress_bar()
        model: Any = BertModel.from_pretrained(folder, add_pooling_layer=False)
        name = hashlib.sha256(weights.read_bytes()).hexdigest()[:16]
        return cls(model, AutoTokenizer.from_pretrained(folder), name)

    def forward(self, texts: Sequence[str], longest: int = LONGEST) -> torch.Tensor:
        """Return the vectors [N, width] of texts, with gradient where gradients are on."""
        batch = self.tokenizer(list(texts), padding=True, truncation=True, max_length=longest, return_tensors="pt")
        hidden = self.model(**batch).last_hidden_state
        mask = batch["attention_mask"][..., None].to(hidden.dtype)
        mean = (hidden * mask).sum(1) / mask.sum(1)
        return torch.nn.functional.normalize(mean.float(), dim=-1)

    def vectors(self, texts: Iterable[str]) -> Vectors:
        """Return the vectors [N, width] of texts; texts that were met before cost nothing."""
        asked = list(texts)
        keys = [key(each) for each in asked]
        new = {each: text for each, text in zip(keys, asked, strict=True) if each not in self._kept}
        waiting = sorted(new.items(), key=lambda pair: len(pair[1]))  # of like lengths together: little padding
        with torch.no_grad(), torch.autocast("cpu", torch.bfloat16):
            for start in range(0, len(waiting), _BATCH):
                part = waiting[start : start + _BATCH]
                made = self.forward([text for _, text in part]).numpy().astype(np.float16)
                self._kept.update(zip((each for each, _ in part), made, strict=True))
        if not asked:
            return np.zeros((0, self.width), np.float32)
        return np.stack([self._kept[each] for each in keys]).astype(np.float32)

    def read_cache(self, file: Path) -> None:
        """Add the vectors of a file that `write_cache` has written; a missing file adds nothing.

        Raises:
            UsageError: Another encoder wrote it, or it cannot be read.
        """
        if not file.is_file():
            return
        try:
            with np.load(file, allow_pickle=False) as held:
                name, keys, made = str(held["name"]), held["keys"], held["vectors"]
        except (OSError, ValueError, KeyError) as error:
            raise UsageError(f"the cache {file} cannot be read ({error}): delete it") from None
        if name != self.name:
            raise UsageError(f"the cache {file} is of the encoder {name}, not {self.name}: delete it")
        self._kept.update(zip((bytes(each) for each in keys), made, strict=True))

    def write_cache(self, file: Path) -> None:
        """Write all vectors into a file, whole or not at all."""
        file.parent.mkdir(parents=True, exist_ok=True)
        keys = np.frombuffer(b"".join(self._kept), np.uint8).reshape(-1, 12)
        made = np.stack(list(self._kept.values())) if self._kept else np.zeros((0, self.width), np.float16)
        partial = file.with_name(f".{file.name}.partial.npz")
        np.savez(partial, name=np.array(self.name), keys=keys, vectors=made)
        partial.replace(file)
