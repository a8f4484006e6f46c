"""The judge of names: a small cross-encoder that reads a question and a folder's listing together.

The entries of a listing are compared with each other, since the model sees all of them at once: `[CLS] question [SEP]
folder : entry [SEP] entry [SEP] …`. An entry's rating comes from the mean of its tokens' states, beside the question's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn

from reference_agent.search.encoder import Encoder, Vectors, spoken

SHOWN_CHILDREN = 10  # names in a folder that its text tells once it was entered
LONGEST_QUESTION, LONGEST_FOLDER, LONGEST_ENTRY = 64, 24, 40  # tokens
ROOM = 420  # tokens of entries that are read together; longer listings are read in pieces
_HIDDEN = 128
_TOGETHER = 4  # inputs of like length that are computed together


class Packed(NamedTuple):
    """A question and a listing as tokens: their ids, and where the question and each entry stand."""

    ids: list[int]
    question: tuple[int, int]
    entries: list[tuple[int, int]]


def entry_words(entry: str, children: Sequence[str] = ()) -> str:
    """Return what the judge reads of an entry; `children` are the paths in a folder that was entered."""
    name = entry.rstrip("/").rpartition("/")[2]
    told = spoken(name) + (" folder" if entry.endswith("/") else "")
    if children:
        told += ": " + ", ".join(spoken(each.rstrip("/").rpartition("/")[2]) for each in children[:SHOWN_CHILDREN])
    return told


class ListingJudge(nn.Module):
    """An encoder whose upper layers are trained to rate the entries of a listing for a question.

    Args:
        encoder: The pretrained encoder; it must not be shared, since its weights are trained.
        layers: How many of its upper layers are trained.
    """

    def __init__(self, encoder: Encoder, layers: int) -> None:
        super().__init__()
        self.model: Any = encoder.model
        self._tokenizer = encoder.tokenizer
        self.mix = nn.Linear(3 * encoder.width, _HIDDEN)
        self.out = nn.Linear(_HIDDEN, 1)
        blocks = self.model.encoder.layer
        self.upper: nn.ModuleList = blocks[max(len(blocks) - layers, 0) :]
        for parameter in self.model.parameters():
            parameter.requires_grad = False
        for parameter in self.upper.parameters():
            parameter.requires_grad = True
        self._ids: dict[tuple[str, int], list[int]] = {}
        self._begin, self._end = int(self._tokenizer.cls_token_id), int(self._tokenizer.sep_token_id)

    def _tokens(self, text: str, most: int) -> list[int]:
        found = self._ids.get((text, most))
        if found is None:
            made = self._tokenizer(text, add_special_tokens=False, truncation=True, max_length=most)
            found = self._ids[text, most] = list(made["input_ids"])
        return found

    def size(self, words: str) -> int:
        """Return the tokens that an entry's words take, with the mark behind them."""
        return len(self._tokens(words, LONGEST_ENTRY)) + 1

    def pack(self, question: str, folder: str, entries: Sequence[str]) -> Packed:
        """Return a question and the words of entries as tokens."""
        ids = [self._begin, *self._tokens(question, LONGEST_QUESTION), self._end]
        asked = (1, len(ids) - 1)
        place = spoken(folder) if folder else "top of the project"
        ids += [*self._tokens(place, LONGEST_FOLDER), *self._tokens(":", 1)]
        spans: list[tuple[int, int]] = []
        for words in entries:
            tokens = self._tokens(words, LONGEST_ENTRY)
            spans.append((len(ids), len(ids) + len(tokens)))
            ids += [*tokens, self._end]
        return Packed(ids, asked, spans)

    def forward(self, packs: Sequence[Packed]) -> list[Tensor]:
        """Return the ratings of the entries of each input."""
        order = sorted(range(len(packs)), key=lambda index: len(packs[index].ids))
        rows: dict[int, Tensor] = {}
        for start in range(0, len(order), _TOGETHER):
            part = order[start : start + _TOGETHER]
            longest = max(len(packs[index].ids) for index in part)
            ids = torch.zeros(len(part), longest, dtype=torch.long)
            there = torch.zeros(len(part), longest, dtype=torch.long)
            for place, index in enumerate(part):
                ids[place, : len(packs[index].ids)] = torch.tensor(packs[index].ids)
                there[place, : len(packs[index].ids)] = 1
            with torch.autocast("cpu", torch.bfloat16):
                states = self.model(input_ids=ids, attention_mask=there).last_hidden_state
            sums = nn.functional.pad(states.float().cumsum(1), (0, 0, 1, 0))
            for place, index in enumerate(part):
                rows[index] = _features(sums[place], packs[index])
        counts = [len(each.entries) for each in packs]
        together = torch.cat([rows[index] for index in range(len(packs))])
        return list(self.out(torch.tanh(self.mix(together)))[:, 0].split(counts))

    def rate(self, question: str, folder: str, entries: Sequence[str]) -> Vectors:
        """Return the ratings of entries, given as words; a long listing is read in pieces of `ROOM` tokens."""
        pieces: list[list[str]] = [[]]
        used = 0
        for words in entries:
            if pieces[-1] and used + self.size(words) > ROOM:
                pieces.append([])
                used = 0
            pieces[-1].append(words)
            used += self.size(words)
        with torch.no_grad():
            made = self([self.pack(question, folder, piece) for piece in pieces])
        return torch.cat(made).numpy().astype(np.float32)

    def learned(self) -> dict[str, Tensor]:
        """Return the trained weights alone."""
        kept = {f"mix.{name}": value for name, value in self.mix.state_dict().items()}
        kept |= {f"out.{name}": value for name, value in self.out.state_dict().items()}
        kept |= {f"upper.{name}": value for name, value in self.upper.state_dict().items()}
        return {name: value.detach().clone() for name, value in kept.items()}

    def adopt(self, weights: dict[str, Tensor]) -> None:
        """Take over trained weights."""
        for part, module in (("mix", self.mix), ("out", self.out), ("upper", self.upper)):
            held = {name[len(part) + 1 :]: value.float() for name, value in weights.items() if name.startswith(part)}
            module.load_state_dict(held)


def _features(sums: Tensor, packed: Packed) -> Tensor:
    """Return the features [N, 3 * width] of entries from the running sums of the states."""
    first = torch.tensor([start for start, _ in packed.entries])
    last = torch.tensor([end for _, end in packed.entries])
    entries = (sums[last] - sums[first]) / (last - first).clamp(min=1)[:, None]
    start, end = packed.question
    asked = ((sums[end] - sums[start]) / max(end - start, 1)).expand_as(entries)
    return torch.cat([entries, asked, entries * asked], 1)
