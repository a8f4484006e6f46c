"""Trains a judge of listings: the entry that leads on against the others of its folder, in batches of questions."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from natlang_envs.autoexplore.repository.tree import open_repository
from natlang_envs.errors import UsageError
from reference_agent.search.encoder import Encoder
from reference_agent.search.listing_judge import ListingJudge, Packed, entry_words
from reference_agent.search.listings import Example, Question, entries_of, examples

_TRAINED_CHILDREN = 8  # names in a folder that training tells at the most
_SAVED_EVERY = 50  # updates


@dataclass(frozen=True)
class ListingConfig:
    """How a judge of listings is trained.

    Attributes:
        steps: Updates.
        decay: The update from which the learning rate falls to zero.
        layers: Upper layers of the encoder that learn.
        rate: Their learning rate.
        head_rate: That of the head.
        questions: Questions in an update, each with one listing on its way.
        entries: Entries of a listing that are shown.
        tokens: Tokens of a question with its listing.
        shares: Of labelled questions, of those written for training, and of those made by rules.
        last_shares: The same from `decay` on: mostly labelled ones, whose mixture of folders is the one to be met.
        seed: Of the draws and of the head.
    """

    steps: int = 1350
    decay: int = 800
    layers: int = 5
    rate: float = 1e-4
    head_rate: float = 1e-3
    questions: int = 12
    entries: int = 18
    tokens: int = 360
    shares: tuple[float, float, float] = (0.45, 0.35, 0.2)
    last_shares: tuple[float, float, float] = (0.75, 0.2, 0.05)
    seed: int = 0


class _Draws:
    """Draws examples of three kinds, each with a few of its entries in any order, and packs them."""

    def __init__(self, pools: Sequence[Sequence[Question]], config: ListingConfig, rng: np.random.Generator) -> None:
        self._config, self._rng = config, rng
        self._pools = [examples(pool) for pool in pools]

    def draw(self, judge: ListingJudge, step: int) -> tuple[Packed, int]:
        """Return an example as tokens, and which of its entries leads on."""
        config, rng = self._config, self._rng
        wanted = config.shares if step < config.decay else config.last_shares
        shares = np.array([share * bool(pool) for share, pool in zip(wanted, self._pools, strict=True)])
        pool = self._pools[int(rng.choice(len(shares), p=shares / shares.sum()))]
        example = pool[int(rng.integers(len(pool)))]
        needed = int(rng.choice(example.right))
        others = [index for index in range(len(example.entries)) if index not in example.right]
        kept = [needed, *(others[index] for index in rng.permutation(len(others))[: config.entries - 1])]
        shown = [kept[index] for index in rng.permutation(len(kept))]
        tells = rng.random() < 0.5
        words = [self._words(example, example.entries[index], tells and rng.random() < 0.7) for index in shown]
        packed = judge.pack(example.question.text, example.folder, words)
        while len(packed.ids) > config.tokens and len(shown) > 1:
            last = max(place for place, index in enumerate(shown) if index != needed)
            del shown[last], words[last]
            packed = judge.pack(example.question.text, example.folder, words)
        return packed, shown.index(needed)

    def _words(self, example: Example, entry: str, tells: bool) -> str:
        if not (tells and entry.endswith("/")):
            return entry_words(entry)
        children = entries_of(open_repository(example.question.folder), entry[:-1])
        if len(children) > _TRAINED_CHILDREN:
            drawn = sorted(self._rng.choice(len(children), _TRAINED_CHILDREN, replace=False))
            children = tuple(children[index] for index in drawn)
        return entry_words(entry, children)


def train_listings(
    judge: ListingJudge,
    pools: Sequence[Sequence[Question]],
    config: ListingConfig,
    file: Path,
    report: Callable[[int, int, float], None] = lambda step, steps, value: None,
    seconds: float = float("inf"),
) -> bool:
    """Train a judge; return whether it is finished. A run that was stopped goes on from its file to the same weights.

    Args:
        judge: The untrained judge.
        pools: Labelled questions, written ones, and those made by rules; each may be empty.
        config: The settings.
        file: Where the state is kept, and the trained weights at the end.
        report: Called with the update, the updates and the share of right choices of late.
        seconds: After how long to stop and save.

    Raises:
        UsageError: The file is of other settings.
    """
    state = torch.load(file, weights_only=False) if file.exists() else None
    if state is not None:
        if state["config"] != asdict(config):
            raise UsageError(f"{file} is of other settings: choose another folder")
        judge.adopt(state["weights"])
        if state["step"] >= config.steps:
            return True
    else:
        torch.manual_seed(config.seed)
        for layer in (judge.mix, judge.out):
            layer.reset_parameters()
    rng = np.random.default_rng(config.seed)
    draws = _Draws(pools, config, rng)
    upper, head = list(judge.upper.parameters()), [*judge.mix.parameters(), *judge.out.parameters()]
    optimizer = torch.optim.AdamW([{"params": upper}, {"params": head}], lr=config.rate, weight_decay=0.01)
    first, right = 0, [0.0]
    if state is not None:
        first = state["step"]
        optimizer.load_state_dict(state["optimizer"])
        rng.bit_generator.state = state["rng"]
        torch.set_rng_state(state["torch"])
    started = time.monotonic()
    judge.eval()  # no dropout: hardly an example is seen twice
    step = first
    for step in range(first, config.steps):
        fall = min(1.0, (config.steps - step) / max(config.steps - config.decay, 1))
        for group, rate in zip(optimizer.param_groups, (config.rate, config.head_rate), strict=True):
            group["lr"] = rate * min(1.0, (step + 1) / 50) * fall
        loss, hits = _loss(judge, [draws.draw(judge, step) for _ in range(config.questions)])
        loss.backward()
        nn.utils.clip_grad_norm_([*upper, *head], 1.0)
        optimizer.step()
        optimizer.zero_grad()
        right = [*right[-50:], hits]
        report(step + 1, config.steps, float(np.mean(right)))
        late = time.monotonic() - started > seconds
        if (step + 1) % _SAVED_EVERY == 0 or step + 1 == config.steps or late:
            _save(file, judge, config, step + 1, optimizer, rng)
        if late:
            break
    return step + 1 >= config.steps


def trained_judge(file: Path, encoder: Encoder) -> ListingJudge:
    """Return the judge that a finished training has left, whatever its settings were.

    Raises:
        UsageError: There is none, or its training is not finished.
    """
    state = torch.load(file, weights_only=False) if file.exists() else None
    if state is None or state["step"] < state["config"]["steps"]:
        raise UsageError(f"{file} holds no finished judge: run reflect-rl search train --out {file.parent.parent}")
    judge = ListingJudge(encoder, state["config"]["layers"]).eval()
    judge.adopt(state["weights"])
    return judge


def _save(
    file: Path,
    judge: ListingJudge,
    config: ListingConfig,
    step: int,
    optimizer: torch.optim.Optimizer,
    rng: np.random.Generator,
) -> None:
    state: dict[str, Any] = {"config": asdict(config), "weights": judge.learned(), "step": step}
    if step < config.steps:
        state |= {"optimizer": optimizer.state_dict(), "rng": rng.bit_generator.state, "torch": torch.get_rng_state()}
    file.parent.mkdir(parents=True, exist_ok=True)
    torch.save(state, file.with_suffix(".partial"))
    file.with_suffix(".partial").replace(file)


def _loss(judge: ListingJudge, batch: Sequence[tuple[Packed, int]]) -> tuple[Tensor, float]:
    """Return the contrastive loss of a batch, and the share of questions whose best entry leads on."""
    rated = judge([packed for packed, _ in batch])
    losses = [
        nn.functional.cross_entropy(each[None], torch.tensor([needed]))
        for each, (_, needed) in zip(rated, batch, strict=True)
    ]
    hits = [int(each.argmax()) == needed for each, (_, needed) in zip(rated, batch, strict=True)]
    return torch.stack(losses).mean(), float(np.mean(hits))
