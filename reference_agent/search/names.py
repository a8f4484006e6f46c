"""The judge of names: which entry of a listing leads to the answer, told by its path and, once seen, its children.

A question's and an entry's vectors come from one encoder, of which the upper layers are trained; their fit is a
bilinear form plus what an entry is worth for any question. Training is contrastive: the entry on the way against its
siblings.
"""

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
from reference_agent.search.listings import SHOWN_CHILDREN, Listing, Question, entries_of, entry_text, listings, thinned

_READ = 48  # tokens of an entry or question that training reads
_TOGETHER = 28  # texts of like length that are computed together
_SAVED_EVERY = 50  # steps


@dataclass(frozen=True)
class NamesConfig:
    """How the judge of names is trained.

    Attributes:
        steps: Updates.
        layers: Upper layers of the encoder that learn.
        rate: Their learning rate.
        head_rate: That of the bilinear form and the prior.
        listings: Listings in an update.
        questions: Questions of a listing in an update.
        entries: Entries of a listing in an update.
        children: The share of listings whose folders tell their children.
        weak: The share of listings of weak questions.
        seed: Of the draws.
    """

    steps: int = 250
    layers: int = 3
    rate: float = 1e-4
    head_rate: float = 1e-3
    listings: int = 4
    questions: int = 6
    entries: int = 14
    children: float = 0.5
    weak: float = 0.5
    seed: int = 0


class NameJudge(nn.Module):
    """An encoder with a bilinear form over its vectors.

    Args:
        encoder: The encoder; its upper layers may be trained.
        layers: How many of them.
    """

    def __init__(self, encoder: Encoder, layers: int) -> None:
        super().__init__()
        self.encoder = encoder
        self.form = nn.Linear(encoder.width, encoder.width, bias=False)
        nn.init.eye_(self.form.weight)
        self.prior = nn.Linear(encoder.width, 1)
        nn.init.zeros_(self.prior.weight)
        self.sharpness = nn.Parameter(torch.tensor(3.0))
        blocks = encoder.model.encoder.layer
        self.upper: nn.ModuleList = blocks[max(len(blocks) - layers, 0) :]
        for parameter in encoder.model.parameters():
            parameter.requires_grad = False
        for parameter in self.upper.parameters():
            parameter.requires_grad = True

    def fits(self, asked: Tensor, entries: Tensor) -> Tensor:
        """Return the logits [Q, N] of entries' vectors [N, width] for questions' vectors [Q, width]."""
        return torch.exp(self.sharpness) * (self.form(asked) @ entries.T) + self.prior(entries)[:, 0]

    def rate(self, question: str, entries: Sequence[str]) -> np.ndarray[Any, Any]:
        """Return the logits of entries' texts for a question; kept vectors cost nothing."""
        if not entries:
            return np.zeros(0, np.float32)
        with torch.no_grad():
            made = torch.from_numpy(self.encoder.vectors([question, *entries]))
            return self.fits(made[:1], made[1:])[0].numpy()

    def learned(self) -> dict[str, Tensor]:
        """Return the trained weights alone."""
        kept = {"form": self.form.weight, "prior": self.prior.weight, "bias": self.prior.bias, "sharp": self.sharpness}
        kept |= {f"upper.{name}": value for name, value in self.upper.state_dict().items()}
        return {name: value.detach().clone() for name, value in kept.items()}

    def adopt(self, weights: dict[str, Tensor]) -> None:
        """Take over trained weights."""
        with torch.no_grad():
            self.form.weight.copy_(weights["form"])
            self.prior.weight.copy_(weights["prior"])
            self.prior.bias.copy_(weights["bias"])
            self.sharpness.copy_(weights["sharp"])
        upper = {name[6:]: value.float() for name, value in weights.items() if name.startswith("upper.")}
        self.upper.load_state_dict(upper)


class _Draws:
    """Draws listings and the texts of their entries."""

    def __init__(self, questions: Sequence[Question], config: NamesConfig, rng: np.random.Generator) -> None:
        self._config, self._rng = config, rng
        self._folders = {each.repository: each.folder for each in questions}
        self._pools: list[tuple[list[Listing], np.ndarray[Any, Any]]] = []
        for weak in (False, True):
            found = listings(each for each in questions if each.weak == weak)
            sizes = np.array([min(len(each.questions), config.questions) for each in found], float)
            self._pools.append((found, sizes / max(sizes.sum(), 1)))

    def batch(self) -> list[tuple[Listing, list[str]]]:
        """Return listings with their entries' texts."""
        config, rng = self._config, self._rng
        made: list[tuple[Listing, list[str]]] = []
        for _ in range(config.listings):
            found, shares = self._pools[int(bool(self._pools[1][0]) and rng.random() < config.weak)]
            drawn = thinned(found[int(rng.choice(len(found), p=shares))], config.questions, config.entries, rng)
            told = rng.random() < config.children
            made.append(
                (drawn, [entry_text(each, self._children(drawn, each) if told else ()) for each in drawn.entries])
            )
        return made

    def _children(self, listing: Listing, entry: str) -> Sequence[str]:
        if not entry.endswith("/"):
            return ()
        found = entries_of(open_repository(self._folders[listing.repository]), entry[:-1])
        if len(found) <= SHOWN_CHILDREN:
            return found
        return [found[index] for index in sorted(self._rng.choice(len(found), SHOWN_CHILDREN, replace=False))]


def train_names(
    judge: NameJudge,
    questions: Sequence[Question],
    config: NamesConfig,
    file: Path,
    report: Callable[[int, int, float], None] = lambda step, steps, value: None,
    seconds: float = float("inf"),
) -> bool:
    """Train the judge; return whether it is finished. A run that was stopped goes on from its file to the same weights.

    Args:
        judge: The untrained judge.
        questions: Labelled and weak ones.
        config: The settings.
        file: Where the state is kept, and the trained weights at the end.
        report: Called with the step, the steps and the share of right choices of late.
        seconds: After how long to stop and save.

    Raises:
        UsageError: The file is of other settings.
    """
    rng = np.random.default_rng(config.seed)
    draws = _Draws(questions, config, rng)
    learning = list(judge.upper.parameters())
    head = [*judge.form.parameters(), *judge.prior.parameters(), judge.sharpness]
    optimizer = torch.optim.AdamW(
        [{"params": learning, "lr": config.rate}, {"params": head, "lr": config.head_rate}], weight_decay=0.01
    )
    first, right = 0, [0.0]
    if file.exists():
        state = torch.load(file, weights_only=False)
        if state["config"] != asdict(config):
            raise UsageError(f"{file} is of other settings: choose another folder")
        judge.adopt(state["weights"])
        first = state["step"]
        if first < config.steps:
            optimizer.load_state_dict(state["optimizer"])
            rng.bit_generator.state = state["rng"]
            torch.set_rng_state(state["torch"])
    else:
        torch.manual_seed(config.seed)
    started = time.monotonic()
    judge.encoder.model.train()
    for step in range(first, config.steps):
        for group, rate in zip(optimizer.param_groups, (config.rate, config.head_rate), strict=True):
            group["lr"] = rate * min(1.0, (step + 1) / 20) * (1 - step / config.steps)
        loss, hits = _loss(judge, draws.batch())
        loss.backward()
        nn.utils.clip_grad_norm_(learning, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        right = [*right[-50:], hits]
        report(step + 1, config.steps, float(np.mean(right)))
        late = time.monotonic() - started > seconds
        if (step + 1) % _SAVED_EVERY == 0 or step + 1 == config.steps or late:
            file.parent.mkdir(parents=True, exist_ok=True)
            state = {"config": asdict(config), "weights": judge.learned(), "step": step + 1}
            if step + 1 < config.steps:
                state |= {"optimizer": optimizer.state_dict(), "rng": rng.bit_generator.state}
                state |= {"torch": torch.get_rng_state()}
            torch.save(state, file.with_suffix(".partial"))
            file.with_suffix(".partial").replace(file)
        if late:
            break
    judge.encoder.model.eval()
    judge.encoder.forget()
    return step + 1 >= config.steps if first < config.steps else True


def _loss(judge: NameJudge, batch: Sequence[tuple[Listing, list[str]]]) -> tuple[Tensor, float]:
    """Return the contrastive loss of a batch, and the share of questions whose best entry leads on."""
    texts = [text for listing, told in batch for text in (*listing.questions, *told)]
    order = sorted(range(len(texts)), key=lambda index: len(texts[index]))
    with torch.autocast("cpu", torch.bfloat16):
        parts = [
            judge.encoder.forward([texts[index] for index in order[start : start + _TOGETHER]], _READ)
            for start in range(0, len(order), _TOGETHER)
        ]
    places = torch.empty(len(order), dtype=torch.long)
    places[torch.tensor(order)] = torch.arange(len(order))
    made = torch.cat(parts)[places]
    losses: list[Tensor] = []
    hits: list[bool] = []
    start = 0
    for listing, told in batch:
        asked = made[start : start + len(listing.questions)]
        entries = made[start + len(listing.questions) : start + len(listing.questions) + len(told)]
        start += len(listing.questions) + len(told)
        chances = torch.log_softmax(judge.fits(asked, entries), dim=1)
        for row, answers in zip(chances, listing.answers, strict=True):
            losses.append(-torch.logsumexp(row[list(answers)], dim=0))
            hits.append(int(row.argmax()) in answers)
    return torch.stack(losses).mean(), float(np.mean(hits))
