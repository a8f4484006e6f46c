"""Texts as vectors, for learners without a language model.

Small enough to learn the classic taxi from; nothing is trained here, and a text gives the same vector everywhere. What
makes numbers of commands is in `learners.wrappers`; the vector forms of both are in `learners.vector_wrappers`.
None of them chooses tasks: make what a learner plays with `split="train"`; an environment's own default is `"all"`.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import import_module
from itertools import pairwise
from typing import Any, Protocol
from zlib import crc32

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.utils import RecordConstructorArgs

from natlang_envs.errors import UsageError, check_count
from natlang_envs.spaces import check_texts

SIZE = 2048  # of vectors by default
_WORD = re.compile(r"\w+")
_END_OF_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


class Encoder(Protocol):
    """Makes a vector of a text."""

    size: int

    def __call__(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return the vector of a text, float32 of shape (size,)."""
        ...


class TextEncoder:
    """Hashes the words, sentences and whole of a text into a vector.

    Pairs of neighbouring words, sentences, and the text as a whole each set one number. The sentences and the whole let
    a learner distinguish states whose words are the same, such as the cells of a map. Each of the three groups has the
    same weight, so that a long text does not drown what changes in it.

    Args:
        size: The length of the vectors. The more, the fewer different things share a number.

    Raises:
        UsageError: The size is no whole number of at least 1.
    """

    def __init__(self, size: int = SIZE) -> None:
        self.size = check_count("size", size)
        self._vector = lru_cache(maxsize=4096)(self._hash)

    def __call__(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return the vector of a text, float32 of shape (size,), no number of it above 3."""
        return self._vector(text).copy()

    def __getstate__(self) -> int:
        return self.size

    def __setstate__(self, size: int) -> None:
        self.__init__(size)

    def _hash(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        words = _WORD.findall(text.lower())
        groups = (set(pairwise(["", *words])), set(_END_OF_SENTENCE.split(text)), {text})
        vector = np.zeros(self.size, np.float32)
        for number, group in enumerate(groups):
            places = [crc32(repr((number, part)).encode("utf-8", "surrogatepass")) % self.size for part in group]
            np.add.at(vector, places, 1 / np.sqrt(max(1, len(group))))
        return vector


class TransformerEncoder:
    """Returns the mean of a transformer's last hidden states; needs the extra `agent`.

    Args:
        model: What `transformers.AutoModel` loads: a folder or a hub id.
        tokens: The most tokens of a text; of a longer one the end, with the newest, is read.
    """

    def __init__(self, model: str, tokens: int = 512) -> None:
        transformers: Any = import_module("transformers")  # both are in an extra
        self._tokenizer = transformers.AutoTokenizer.from_pretrained(model, truncation_side="left")
        self._model = transformers.AutoModel.from_pretrained(model).eval()
        self._tokens = tokens
        self.size = int(self._model.config.hidden_size)

    def __call__(self, text: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        """Return the vector of a text, float32 of shape (size,)."""
        given = self._tokenizer(text or " ", return_tensors="pt", truncation=True, max_length=self._tokens)
        torch: Any = import_module("torch")
        with torch.no_grad():
            return self._model(**given).last_hidden_state[0].mean(0).float().numpy()


class EncodedObservations(gymnasium.ObservationWrapper[Any, Any, str], RecordConstructorArgs):
    """Observations become vectors: `Box(0, 3, (size,))` by `TextEncoder`, or another encoder's.

    Args:
        env: An environment whose observations are texts.
        size: The length of a `TextEncoder`'s vectors.
        encode: Another encoder, such as a `TransformerEncoder`: it has a `size` and is called with a text.

    Raises:
        UsageError: The observations are no texts, or `size` is given with another encoder, which has its own.
    """

    def __init__(self, env: gymnasium.Env[str, Any], size: int = SIZE, encode: Encoder | None = None) -> None:
        if encode is not None and size != SIZE:
            raise UsageError(f"size has no effect beside encode, which has {encode.size} numbers a text: leave it out")
        RecordConstructorArgs.__init__(self, size=size, encode=encode)
        super().__init__(env)
        check_texts(env.observation_space, "EncodedObservations")
        self._encode = encode or TextEncoder(size)
        high = 3.0 if encode is None else np.inf
        self.observation_space = spaces.Box(0.0 if encode is None else -high, high, (self._encode.size,), np.float32)

    def observation(self, observation: str) -> np.ndarray[Any, np.dtype[np.float32]]:
        return self._encode(observation)
