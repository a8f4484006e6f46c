"""A trained searcher as a folder: the judges of listings, the networks, word counts, and policies.

Only what was trained is kept; the pretrained encoder comes from the cache folder. `Searcher.save(folder, 8)` writes
matrices as 8-bit integers with a scale for each row, half the size of half precision.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from natlang_envs.autoexplore.dataset.catalogue import cache_folder
from natlang_envs.errors import UsageError
from reference_agent.search.encoder import Encoder
from reference_agent.search.judge import Asked, Network, Row, Usual
from reference_agent.search.lexical import Rarity
from reference_agent.search.listing_judge import ListingJudge

KINDS: dict[str, tuple[int, ...] | None] = {"depth1": (0, 1), "depth2": (2,), "any": None}
_REMEMBERED = 1024  # questions; the largest protocol has 604
_SCALE = "/scale"
_CONFIG, _JUDGES, _NETWORKS, _WORDS, _USUAL = "search.json", "judges.pt", "networks.npz", "words.json", "usual.json"


def _packed(weights: dict[str, Tensor], bits: int) -> dict[str, Tensor]:
    """Return weights in half precision, matrices as 8-bit integers and scales where `bits` is 8."""
    made: dict[str, Tensor] = {}
    for name, value in weights.items():
        if bits == 8 and value.ndim == 2:
            scale = value.abs().amax(1, keepdim=True).clamp(min=1e-8) / 127
            made[name] = (value / scale).round().to(torch.int8)
            made[name + _SCALE] = scale
        else:
            made[name] = value.half()
    return made


def _unpacked(held: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return weights as `_packed` was given them, rounding aside."""
    return {
        name: value.float() * held[name + _SCALE] if name + _SCALE in held else value.float()
        for name, value in held.items()
        if not name.endswith(_SCALE)
    }


class Judgement:
    """Ratings of one question's entries and texts.

    Args:
        asked: The question with its features.
        entry: The network of entries.
        text: The network of texts.
        temperature: By which entries' logits are divided; below 1 they are trusted more.
    """

    def __init__(self, asked: Asked, entry: Network, text: Network, temperature: float) -> None:
        self.asked = asked
        self._entry, self._text, self._temperature = entry, text, temperature
        self._listed: dict[tuple[str, tuple[str, ...], tuple[str, ...]], Row] = {}
        self._read: dict[str, float] = {}

    def entries(self, folder: str, entries: Sequence[str], children: dict[str, tuple[str, ...]]) -> Row:
        """Return a logit for each entry of a listing."""
        which = (folder, (str(len(entries)), entries[-1]), tuple(children))
        if which not in self._listed:
            self._listed[which] = self._entry(self.asked.entry_rows(entries, children)) / self._temperature
        return self._listed[which]

    def text(self, path: str, text: str) -> float:
        """Return what a text tells."""
        if path not in self._read:
            self._read[path] = float(self._text(self.asked.text_row(path, text)[None])[0])
        return self._read[path]


def encoder() -> Encoder:
    """Return the pretrained encoder of the cache folder."""
    folder = cache_folder() / "models" / "minilm"
    if not folder.exists():
        raise UsageError(f"{folder} is missing: fetch the model once with `reflect-rl models fetch minilm`")
    return Encoder.load(folder)


def is_trained(folder: Path) -> bool:
    """Return whether a folder holds a trained searcher."""
    return (folder / _CONFIG).is_file()


class Searcher:
    """What a run has learned.

    Args:
        reader: The pretrained encoder.
        judges: The judges of listings; their mean counts.
        networks: The network of entries for each of `KINDS`, and `text`.
        rarity: How rare words are.
        usual: How often names lead on.
        settings: The planner's settings for each of `KINDS`.
    """

    def __init__(
        self,
        reader: Encoder,
        judges: Sequence[ListingJudge],
        networks: dict[str, Network],
        rarity: Rarity,
        usual: Usual,
        settings: dict[str, dict[str, Any]],
    ) -> None:
        self.reader, self.judges, self.networks = reader, tuple(judges), networks
        self.rarity, self.usual, self.settings = rarity, usual, settings

        self._judged: OrderedDict[tuple[str, str, tuple[str, ...]], Judgement] = OrderedDict()

    def judgement(self, question: str, kind: str, top: tuple[str, ...] = ()) -> Judgement:
        """Return the ratings for a question; those of the last questions are remembered for all who play with them.

        Args:
            question: The question.
            kind: One of `KINDS`.
            top: What is listed at the top, which tells repositories apart that are asked the same.
        """
        key = question, kind, top
        if key not in self._judged:
            asked = Asked(question, self.judges, self.reader, self.rarity, self.usual)
            self._judged[key] = Judgement(
                asked, self.networks[kind], self.networks["text"], self.settings[kind]["temperature"]
            )
            if len(self._judged) > _REMEMBERED:
                self._judged.popitem(last=False)
        return self._judged[key]

    def save(self, folder: Path, bits: int = 16) -> None:
        """Write the run, its matrices in half precision or in 8 bits."""
        folder.mkdir(parents=True, exist_ok=True)
        arrays = {
            f"{name}.{part}": array for name, each in self.networks.items() for part, array in each.weights.items()
        }
        np.savez(folder / _NETWORKS, **arrays)
        torch.save([_packed(judge.learned(), bits) for judge in self.judges], folder / _JUDGES)
        self.rarity.write(folder / _WORDS)
        (folder / _USUAL).write_text(json.dumps(self.usual.counts, ensure_ascii=False), encoding="utf-8")
        layers = [len(judge.upper) for judge in self.judges]
        config = {"encoder": self.reader.name, "layers": layers, "settings": self.settings}
        (folder / _CONFIG).write_text(json.dumps(config, indent=1), encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> Searcher:
        """Read a run.

        Raises:
            UsageError: There is none, or it was trained on another encoder.
        """
        if not is_trained(folder):
            raise UsageError(
                f"no trained searcher in {folder}: train one with `reflect-rl search train --out {folder}`"
            )
        config = json.loads((folder / _CONFIG).read_text(encoding="utf-8"))
        reader = encoder()
        if config["encoder"] != reader.name:
            raise UsageError(
                f"{folder} was trained on the encoder {config['encoder']}, not {reader.name}: "
                "fetch minilm again or train again"
            )
        judges: list[ListingJudge] = []
        for layers, weights in zip(config["layers"], torch.load(folder / _JUDGES, weights_only=True), strict=True):
            judges.append(ListingJudge(encoder(), layers).eval())
            judges[-1].adopt(_unpacked(weights))
        networks: dict[str, dict[str, Any]] = {}
        with np.load(folder / _NETWORKS) as held:
            for key in held.files:
                name, _, part = key.partition(".")
                networks.setdefault(name, {})[part] = held[key]
        usual = Usual(json.loads((folder / _USUAL).read_text(encoding="utf-8")))
        made = {name: Network(weights) for name, weights in networks.items()}
        return cls(reader, judges, made, Rarity.read(folder / _WORDS), usual, config["settings"])
