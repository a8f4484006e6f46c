"""A causal language model as a player: it writes text (reflector) or chooses one of the listed labels (policy).

Anything that transformers loads as a causal LM fits; the tiny Llama is made here from a config. The policy's
distribution is over the labels listed in its prompt only: the hidden state of the last position times those rows of
`lm_head` (the paper's section 4.3). Prefixes that many prompts of a batch share (task, map) are computed once.
Two players may stand on one frozen base, each with an adapter of its own (LoRA): `with_adapter`. What they return is on
the CPU whatever device computes it. It does not know about environments; backbone.py knows how a base is loaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from huggingface_hub.utils import logging as hub_logging
from torch import Tensor
from transformers import DynamicCache
from transformers.utils import logging

from natlang_envs.enumeration import Choice, enumerate_actions
from natlang_envs.errors import UsageError
from natlang_envs.prompt import policy_prompt
from reference_agent import processes
from reference_agent.config import ModelConfig
from reference_agent.models.backbone import Adapter, checkpointed, digest, load_backbone, tiny_llama
from reference_agent.models.generation import like_length, write
from reference_agent.models.tokenizer import END, FEW, TokenizerSizes, check_labels, label_tokens, make_tokenizer

# A tiny model is read and written in milliseconds, and its padding is masked: bars and reminders would hide our own.
logging.disable_progress_bar()
logging.set_verbosity_error()
hub_logging.set_verbosity_error()  # without a network it tells of each retry; what comes of them is told in one line

_TOGETHER = 64  # texts that are written at a time
_CPU_TOKENS, _GPU_TOKENS = 2_000, 65_536  # read at a time: more is slower on a CPU, and fewer on a GPU
_LARGE = 10_000_000  # weights
_WIDTH = 32  # large models read multiples of so many tokens: torch keeps memory for each width that it meets
_SHARING = 4  # a prefix is computed apart when at least this many prompts share it, on average


class NotFinite(ArithmeticError):  # noqa: N818 (named as what is seen)
    """A gradient or a weight is NaN or infinite; the step was not taken, or must not be kept."""


def check_finite(optimizer: torch.optim.Optimizer) -> None:
    """Raise `NotFinite` unless all that an optimizer moves is finite."""
    weights = (weight for group in optimizer.param_groups for weight in group["params"])
    if not all(bool(weight.isfinite().all()) for weight in weights):
        raise NotFinite("weights are no longer finite")


class LanguageModel:
    """A model and its tokenizer.

    Attributes:
        model: The transformers model.
        tokenizer: Its tokenizer.
        labels: The choice labels that are single tokens after a newline.
        adapter: The player's adapter; None where all weights are its own.
    """

    def __init__(self, model: Any, tokenizer: Any, adapter: Adapter | None = None) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.adapter = adapter
        self.end: int = tokenizer.eos_token_id
        # Batches of a large model are cut and padded unasked; a tiny one's stay whole and give the same bits.
        self._large: bool = model.num_parameters() >= _LARGE
        self._checkpointed = checkpointed(model)
        self._ids: dict[str, tuple[int, ...]] = {}
        self._label_ids = label_tokens(tokenizer)
        self.labels = tuple(self._label_ids)

    @classmethod
    def tiny(
        cls,
        config: ModelConfig,
        texts: Sequence[str],
        words: Sequence[str],
        seed: int,
        sizes: TokenizerSizes = FEW,
    ) -> LanguageModel:
        """Make an untrained Llama and its tokenizer; the same arguments give the same weights."""
        tokenizer = make_tokenizer(texts, words, sizes)
        end = tokenizer.convert_tokens_to_ids(END)
        assert isinstance(end, int)
        torch.manual_seed(seed)
        return cls(tiny_llama(config, len(tokenizer), end), tokenizer)

    @classmethod
    def load(cls, path: str | Path, config: ModelConfig | None = None) -> LanguageModel:
        """Load a folder written by `save`, or any causal LM by hub id or folder, as `config` says (fp32, CPU).

        Raises:
            UsageError: There is no such model, or it cannot be had in this way on this machine.
        """
        return cls(*load_backbone(path, config or ModelConfig()))

    def with_adapter(self, name: str, config: ModelConfig, folder: Path | None = None, seed: int = 0) -> LanguageModel:
        """Return a player on this model's base, which both share and which is frozen from now on.

        Args:
            name: Of the adapter: `"policy"` or `"reflector"`.
            config: Rank and other settings of a new adapter.
            folder: Where `save` wrote the adapter; without it a new one is made, which changes nothing yet.
            seed: Draws a new adapter's weights.

        Raises:
            UsageError: The folder holds no adapter for this base.
        """
        return LanguageModel(self.model, self.tokenizer, Adapter(self.model, self.adapter, name, config, folder, seed))

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), config and tokenizer; of a player on a shared base, its adapter alone."""
        if self.adapter is not None:
            self.adapter.save(folder)
            return
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def restore(self, folder: Path) -> None:
        """Put the weights that `save` wrote into this model.

        Raises:
            RuntimeError: They are of another model, or its tokenizer is another.
            UsageError: They cannot be read.
        """
        if self.adapter is not None:
            self.adapter.restore(folder)
            return
        model, tokenizer = load_backbone(folder, ModelConfig())
        self.model.load_state_dict(model.state_dict())
        if tokenizer.get_vocab() != self.tokenizer.get_vocab():
            raise RuntimeError(f"{folder} has another tokenizer")

    def parameters(self) -> list[torch.nn.Parameter]:
        """Return the weights that are this player's own: what an optimizer may move."""
        return self.adapter.parameters if self.adapter is not None else list(self.model.parameters())

    def freeze(self) -> None:
        """Stop training this player; another one on the same base goes on."""
        if self.adapter is not None:
            self.adapter.frozen = True
        else:
            self.model.requires_grad_(False)
        self.model.eval()

    def fingerprint(self) -> str:
        """Return a digest of every bit that this player computes with: its own weights and the base's."""
        shared = [] if self.adapter is None else self.adapter.base
        return digest([*shared, *self.parameters()])

    def descend(
        self,
        optimizer: torch.optim.Optimizer,
        losses: Tensor | Iterable[Tensor],
        clip: float,
        together: bool = False,
    ) -> float:
        """Take one step down the sum of `losses` with the gradient's norm cut to `clip`; return the norm before that.

        Losses of an iterator are made and walked back one after another, so that only one is in memory.

        Args:
            optimizer: What takes the step.
            losses: The loss, or its summands.
            clip: The largest norm.
            together: Whether other processes walk back further summands.

        Raises:
            NotFinite: The gradient is not finite; nothing has moved.
        """
        optimizer.zero_grad()
        for loss in [losses] if isinstance(losses, Tensor) else losses:
            loss.backward()
        if together:
            processes.add_gradients(weight for group in optimizer.param_groups for weight in group["params"])
        norm = float(torch.nn.utils.clip_grad_norm_(self.parameters(), clip))
        if not np.isfinite(norm):
            raise NotFinite(f"the norm of the gradient is {norm}")
        optimizer.step()
        return norm

    @property
    def positions(self) -> int:
        """The largest number of tokens in a prompt."""
        config = self.model.config
        return int(getattr(config, "n_positions", None) or config.max_position_embeddings)

    def encode(self, text: str) -> tuple[int, ...]:
        """Return the tokens of a text; texts repeat a lot in training, so they are remembered."""
        ids = self._ids.get(text)
        if ids is None:
            ids = tuple(self.tokenizer(text, add_special_tokens=False)["input_ids"])
            if len(self._ids) > 200_000:
                self._ids.clear()
            self._ids[text] = ids
        return ids

    def count(self, text: str) -> int:
        """Return the number of tokens of a text."""
        return len(self.encode(text))

    # The policy's side.

    def labels_for(self, commands: int) -> tuple[str, ...]:
        """Return the labels to draw from for so many commands: just as many, so that a small model meets each often.

        Raises:
            UsageError: The tokenizer has fewer single-token labels.
        """
        check_labels(commands, len(self.labels))
        return self.labels[:commands]

    def list_actions(self, commands: Sequence[str], rng: np.random.Generator | None) -> list[Choice]:
        """Return each command with its label; without `rng` labels are in order. See `labels_for` for errors."""
        return enumerate_actions(commands, self.labels_for(len(commands)), rng)

    def answer_tokens(self, labels: Sequence[str]) -> int:
        """Return how many tokens a choice among listed labels takes beside its prompt: one is written."""
        return 1

    def ask(self, state: str, reflection: str | None, choices: Sequence[Choice]) -> str:
        """Return the prompt that the policy completes with one of the choices' labels."""
        return policy_prompt(state, reflection, choices)

    def choice_logits(self, prompts: Sequence[str], labels: Sequence[Sequence[str]]) -> Tensor:
        """Return the logits of the labels listed in each prompt; see `choice_logits_and_states`.

        Without gradient a large model reads batches of like length, as in writing.py.
        """
        if torch.is_grad_enabled() or not self._large:
            return self.choice_logits_and_states(prompts, labels)[0]
        lengths = [self.count(prompt) + self.answer_tokens(each) for prompt, each in zip(prompts, labels, strict=True)]
        logits = torch.full((len(prompts), max(map(len, labels))), float("-inf"))
        for batch in like_length(lengths, self._read_at_once):
            part, _ = self.choice_logits_and_states([prompts[at] for at in batch], [labels[at] for at in batch])
            logits[batch, : part.shape[1]] = part
        return logits

    def choice_logits_and_states(
        self, prompts: Sequence[str], labels: Sequence[Sequence[str]]
    ) -> tuple[Tensor, Tensor]:
        """Return the logits of the labels listed in each prompt, and the states they come from.

        Args:
            prompts: B prompts.
            labels: For each prompt its labels, at most K.

        Returns:
            Tensor [B, K], -inf where a prompt has fewer labels; the last position's states [B, width].
        """
        widest = max(len(each) for each in labels)
        ids = torch.zeros(len(prompts), widest, dtype=torch.long)
        listed = torch.zeros(len(prompts), widest, dtype=torch.bool)
        for row, each in enumerate(labels):
            ids[row, : len(each)] = torch.tensor([self._label_ids[label] for label in each])
            listed[row, : len(each)] = True
        sequences = [self.encode(prompt) for prompt in prompts]
        states, _, start = self._hidden(sequences, min(map(len, sequences)) - 1)
        hidden = states[torch.arange(len(sequences)), torch.tensor([len(each) for each in sequences]) - 1 - start]
        head = self.model.get_output_embeddings()
        rows = ids.to(head.weight.device)
        logits = torch.einsum("bd,bkd->bk", hidden, head.weight[rows])
        if getattr(head, "bias", None) is not None:
            logits = logits + head.bias[rows]
        return logits.float().cpu().masked_fill(~listed, float("-inf")), hidden.float().cpu()

    def _hidden(self, sequences: Sequence[tuple[int, ...]], longest: int) -> tuple[Tensor, Tensor, int]:
        """Return the last layer's states [B, T, width] of the sequences from `start` on, their tokens [B, T], `start`.

        A prefix that many of them share, of at most `longest` tokens, is computed once for each different one, and
        left out of the result.
        """
        self._check_length(sequences)
        cache, shared = self._begin(sequences, longest)
        return *self._run([each[shared:] for each in sequences], shared, cache), shared

    def _begin(self, sequences: Sequence[tuple[int, ...]], longest: int) -> tuple[DynamicCache | None, int]:
        """Return keys and values of the prefix of at most `longest` tokens that is worth sharing, and its length."""
        self._take_turn()
        shared = _shared_prefix(sequences, longest)
        if not shared or (self._checkpointed and torch.is_grad_enabled()):  # layers that run twice write no cache
            return None, 0
        groups = {prefix: index for index, prefix in enumerate(sorted({each[:shared] for each in sequences}))}
        cache = DynamicCache()
        prefixes = torch.tensor(list(groups), device=self.model.device)
        self.model.base_model(prefixes, attention_mask=torch.ones_like(prefixes), past_key_values=cache, use_cache=True)
        chosen = torch.tensor([groups[each[:shared]] for each in sequences], device=self.model.device)
        cache.batch_select_indices(chosen)
        return cache, shared

    def _run(
        self, sequences: Sequence[tuple[int, ...]], start: int, cache: DynamicCache | None
    ) -> tuple[Tensor, Tensor]:
        # Padding stands on the right, where a causal model cannot see it from the last real token.
        width = max(map(len, sequences))
        if self._large:
            width = min(-(-width // _WIDTH) * _WIDTH, self.positions - start)
        ids = torch.full((len(sequences), width), self.end)
        for row, each in enumerate(sequences):
            ids[row, : len(each)] = torch.tensor(each)
        ids = ids.to(self.model.device)
        positions = torch.arange(start, start + ids.shape[1], device=ids.device).expand_as(ids)
        seen = torch.ones_like(ids[:, :1]).expand(-1, ids.shape[1] + (cache.get_seq_length() if cache else 0))
        output = self.model.base_model(
            ids, attention_mask=seen, position_ids=positions, past_key_values=cache, use_cache=cache is not None
        )
        return output.last_hidden_state, ids

    def _take_turn(self) -> None:
        for layer in self._checkpointed:
            layer.training = torch.is_grad_enabled()  # the layer alone: dropout inside it is as it was
        if self.adapter is not None:
            self.adapter.take_turn()

    def _check_length(self, sequences: Sequence[tuple[int, ...]]) -> None:
        longest = max(len(each) for each in sequences)
        if longest > self.positions:
            # A tiny model is made anew with the positions of the config; a pretrained one has those that it has.
            remedy = " or raise model.positions" if self.tokenizer.eos_token == END else ""
            raise UsageError(
                f"a prompt of {longest} tokens does not fit the model's {self.positions}: lower `history`{remedy}"
            )

    # The reflector's side.

    def completion_loss(self, prompts: Sequence[str], completions: Sequence[str]) -> Tensor:
        """Return the mean loss on the completions' tokens and the end; the prompts' carry none (section 4.1.2)."""
        return self.answers_loss(prompts, [[("", completion)] for completion in completions])

    def answers_loss(self, prompts: Sequence[str], asked: Sequence[Sequence[tuple[str, str]]]) -> Tensor:
        """Return the mean loss on the tokens of the answers to several questions behind each prompt, and on the end.

        Args:
            prompts: B prompts.
            asked: For each the questions, which carry no loss as the prompts carry none, with their answers.
        """
        starts = [self.encode(prompt) for prompt in prompts]
        sequences = [list(start) for start in starts]
        answers = [[False] * len(start) for start in starts]
        for sequence, answer, pairs in zip(sequences, answers, asked, strict=True):
            for question, told in pairs:
                sequence += [*self.encode(question), *self.encode(told)]
                answer += [False] * self.count(question) + [True] * self.count(told)
            sequence.append(self.end)
            answer.append(True)
        # A shared prefix never reaches into a completion.
        states, ids, start = self._hidden([tuple(each) for each in sequences], min(map(len, starts)) - 1)
        wanted = torch.zeros(len(prompts), start + ids.shape[1], dtype=torch.bool)
        for row, answer in enumerate(answers):
            wanted[row, : len(answer)] = torch.tensor(answer)
        wanted = wanted[:, start + 1 :].to(ids.device)  # the token at place t + 1 is predicted at place t
        logits = self.model.get_output_embeddings()(states[:, :-1][wanted])
        return torch.nn.functional.cross_entropy(logits.float(), ids[:, 1:][wanted]).cpu()

    def write(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Return the most likely completion of each prompt, word by word, up to the end token or `max_tokens`."""
        order = sorted(range(len(prompts)), key=lambda index: self.count(prompts[index]))
        texts = [""] * len(prompts)
        for first in range(0, len(order), _TOGETHER):
            batch = order[first : first + _TOGETHER]
            sequences = [self.encode(prompts[index]) for index in batch]
            self._check_length(sequences)
            most = min(max_tokens, self.positions - max(map(len, sequences)))
            self._take_turn()
            for index, tokens in zip(
                batch, write(self.model, sequences, self.end, most, self._read_at_once), strict=True
            ):
                texts[index] = self.tokenizer.decode(tokens, skip_special_tokens=True).strip()
        return texts

    @property
    def _read_at_once(self) -> int:
        """The most tokens, with padding, in a forward pass without gradient."""
        return _CPU_TOKENS if self.model.device.type == "cpu" else _GPU_TOKENS


def _shared_prefix(sequences: Sequence[tuple[int, ...]], longest: int) -> int:
    """Return the length of the longest prefix that is worth computing apart, at most `longest`; 0 if none is.

    A prefix of length n is worth it while there are few different ones for the number of sequences. The number of
    different prefixes never falls as n grows, so a binary search finds the longest.
    """
    low, high = 0, longest
    while low < high:
        middle = (low + high + 1) // 2
        if len({each[:middle] for each in sequences}) * _SHARING <= len(sequences):
            low = middle
        else:
            high = middle - 1
    return low
