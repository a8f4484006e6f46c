"""A causal language model as a player: it writes text (reflector) or chooses one of the listed labels (policy).

Any causal LM of transformers will do that reads by positions, a mask and a cache; others are refused. The policy's
distribution is over the labels listed in its prompt only: the last hidden state times those rows of `lm_head` (the
paper's section 4.3). Prefixes shared by many prompts of a batch (task, map) are computed once. Two players may share
one frozen base, each with its own LoRA adapter (`with_adapter`). Results are on the CPU, whatever device computes them.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import deepcopy
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from huggingface_hub.utils import logging as hub_logging
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from transformers.cache_utils import DynamicCache
from transformers.utils import logging

from natlang_envs.errors import UsageError, require_type
from reference_agent import processes
from reference_agent.models.adapters import Adapter, digest, without_adapters
from reference_agent.models.backbone import check_player, checkpointed, load_backbone
from reference_agent.models.generation import like_length, shared_prefix, window, write, write_speculatively
from reference_agent.models.tokenizer import Origin, PromptReader, context_length
from reference_agent.run.config import ModelConfig
from reference_agent.tiny.untrained import END, make_tokenizer, tiny_llama

# Loading bars and reminders about padding would hide our own progress bars.
logging.disable_progress_bar()
logging.set_verbosity_error()
hub_logging.set_verbosity_error()  # it reports each retry without a network; the failure itself is one line of ours

_TOGETHER = 64  # texts written at a time
_CPU_TOKENS, _GPU_TOKENS = 2_000, 65_536  # tokens read at a time: more is slower on a CPU, fewer on a GPU
_LARGE = 10_000_000  # weights
_WIDTH = 8  # large models read multiples of so many tokens: torch keeps some memory for each width that it meets


class GeneratedText(NamedTuple):
    """A text, whether it was cut because it was too long, and its tokens: with the end, unless it was cut."""

    text: str
    cut: bool
    tokens: tuple[int, ...] = ()


class NotFinite(ArithmeticError):  # noqa: N818 (named as what is seen)
    """A NaN or infinite gradient or weight; the step was not taken, or must not be kept."""


def check_finite(optimizer: torch.optim.Optimizer) -> None:
    """Raise `NotFinite` unless all that an optimizer moves is finite."""
    weights = (weight for group in optimizer.param_groups for weight in group["params"])
    if not all(bool(weight.isfinite().all()) for weight in weights):
        raise NotFinite("weights are no longer finite")


class LanguageModel(PromptReader):
    """A model with tokenizer, adapter (None: all weights are its own) and origin (None: it reads anything)."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        adapter: Adapter | None = None,
        chat: bool = False,
        origin: Origin | None = None,
    ) -> None:
        super().__init__(tokenizer, context_length(model.config), chat)
        self.model, self.adapter, self.origin = model, adapter, origin
        self.end: int = tokenizer.eos_token_id
        # Batches of a large model are cut and padded unasked; a tiny one's stay whole and give the same bits.
        self._large: bool = model.num_parameters() >= _LARGE
        self._checkpointed = checkpointed(model)

    @classmethod
    def tiny(
        cls, config: ModelConfig, texts: Sequence[str], words: Sequence[str], seed: int, labels: int = 26
    ) -> LanguageModel:
        """Make an untrained Llama and its tokenizer; the same arguments give the same weights."""
        tokenizer: Any = make_tokenizer(texts, words, labels)
        torch.manual_seed(seed)
        return cls(tiny_llama(config, len(tokenizer), tokenizer.convert_tokens_to_ids(END)), tokenizer)

    @classmethod
    def load(cls, path: str | Path, config: ModelConfig | None = None) -> LanguageModel:
        """Load a folder written by `save`, or a causal LM by hub id or folder; without `config` in fp32 on the CPU.

        Raises:
            UsageError: There is no such model, or it cannot be had in this way on this machine.
        """
        config = config or ModelConfig()
        return cls(*load_backbone(path, config), chat=config.chat)

    @classmethod
    def of(cls, model: Any, tokenizer: Any, chat: bool = False) -> LanguageModel:
        """Return a player made of a causal language model of transformers and its tokenizer, which it changes.

        Dropout is switched off. With `chat` it is asked in the tokenizer's chat template.

        Raises:
            UsageError: They cannot be a player, or there is no template.
        """
        check_player(type(model).__name__, model, tokenizer)
        return cls(model, tokenizer, chat=chat)

    def copy(self) -> LanguageModel:
        """Return a copy with weights of its own, for the other player."""
        if self.adapter is not None:
            raise ValueError("a player with an adapter shares its base: make another with with_adapter()")
        return LanguageModel(deepcopy(self.model), self.tokenizer, chat=self.chat, origin=self.origin)

    def with_adapter(self, name: str, config: ModelConfig, folder: Path | None = None, seed: int = 0) -> LanguageModel:
        """Return a player on this model's base, which both share and which is frozen from now on.

        Args:
            name: Of the adapter, such as `"policy"` or `"reflector"`; each on a base has another.
            config: Rank and other settings of a new adapter.
            folder: Where `save` wrote the adapter; without it a new one is made, which changes nothing yet.
            seed: The seed of a new adapter's weights.

        Raises:
            UsageError: The folder holds no adapter for this base, or the settings allow none.
        """
        require_type(config, ModelConfig, "no setting of a model: give ModelConfig(lora_rank=16), for example")
        require_type(name, str, "no name of an adapter: give one such as 'policy'")
        adapter = Adapter(self.model, name, config, folder, seed)
        return LanguageModel(self.model, self.tokenizer, adapter, self.chat, self.origin)

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), config and tokenizer; of a player on a shared base, its adapter alone."""
        if self.adapter is not None:
            self.adapter.save(folder)
            return
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def save_whole(self, folder: Path) -> None:
        """Write what plain transformers loads: weights, config and tokenizer, with an adapter added to its base."""
        model = self.model if self.adapter is None else self.adapter.merged()
        model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def restore(self, folder: Path) -> None:
        """Put the weights that `save` wrote into this model. Raises `RuntimeError` for another model's."""
        if self.adapter is not None:
            self.adapter.restore(folder)
            return
        model, tokenizer = load_backbone(folder, ModelConfig(device="cpu"))  # no second one beside this on its device
        self.model.load_state_dict(model.state_dict())
        if tokenizer.get_vocab() != self.tokenizer.get_vocab():
            raise RuntimeError(f"{folder} has another tokenizer")

    def parameters(self) -> list[torch.nn.Parameter]:
        """Return the weights that are this player's own: what an optimizer may move."""
        return self.adapter.parameters if self.adapter is not None else list(self.model.parameters())

    def changes(self) -> int:
        """Return a number that grows whenever the player's own weights change: what was remembered of it is stale."""
        return sum(0 if each.is_inference() else each._version for each in self.parameters())

    def optimizer(
        self, learning_rate: float, weight_decay: float = 0.01, beside: Iterable[torch.nn.Parameter] = (), **more: Any
    ) -> torch.optim.AdamW:
        """Return AdamW on the player's own weights, and on others `beside`; what trains a player starts here.

        Raises `UsageError` if the weights are frozen, or too coarse for the small steps of training.
        """
        weights = self.parameters()
        if coarse := {str(each.dtype).removeprefix("torch.") for each in weights} - {"float32", "float64"}:
            raise UsageError(
                f"weights in {min(coarse)} are too coarse to train: load the model in fp32, or train a LoRA adapter on "
                "it: with_adapter"
            )
        self._take_turn()
        if not any(each.requires_grad for each in weights):
            raise UsageError(
                "this model is frozen, as a reflector in RL or the base of adapters: train a model loaded anew, or an "
                "adapter on it: with_adapter"
            )
        return torch.optim.AdamW([*weights, *beside], lr=learning_rate, weight_decay=weight_decay, **more)

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
        self, optimizer: torch.optim.Optimizer, losses: Tensor | Iterable[Tensor], clip: float, together: bool = False
    ) -> float:
        """Take one step down the sum of `losses` with the gradient's norm cut to `clip`; return the norm before that.

        The norm is of all weights that the optimizer moves, a critic's too. Losses of an iterator are made and walked
        back one after another, so that only one is in memory; with `together`, other processes add theirs. Raises
        `NotFinite` if the gradient is not; nothing has moved.
        """
        optimizer.zero_grad()
        for loss in [losses] if isinstance(losses, Tensor) else losses:
            loss.backward()
        moved = [weight for group in optimizer.param_groups for weight in group["params"]]
        if together:
            processes.add_gradients(moved)
        norm = float(torch.nn.utils.clip_grad_norm_(moved, clip))
        if not np.isfinite(norm):
            raise NotFinite(f"the norm of the gradient is {norm}")
        optimizer.step()
        return norm

    def choice_logits(self, prompts: Sequence[str], labels: Sequence[Sequence[str]]) -> Tensor:
        """Return the logits of the labels listed in each prompt; see `choice_logits_and_states`.

        Without gradient a large model reads batches of like length, as `complete` does.
        """
        if torch.is_grad_enabled() or not self._large:
            return self.choice_logits_and_states(prompts, labels)[0]
        pairs = zip(prompts, labels, strict=True)
        lengths = [self.count_prompt(prompt) + self.answer_tokens(each) for prompt, each in pairs]
        logits = torch.full((len(prompts), max(map(len, labels))), float("-inf"))
        for batch in like_length(lengths, self._read_at_once):
            part, _ = self.choice_logits_and_states([prompts[at] for at in batch], [labels[at] for at in batch])
            logits[batch, : part.shape[1]] = part
        return logits

    def choice_logits_and_states(
        self, prompts: Sequence[str], labels: Sequence[Sequence[str]]
    ) -> tuple[Tensor, Tensor]:
        """Return the logits [B, K] of the labels listed in B prompts, and the last position's states [B, width].

        Where a prompt has fewer than K labels its logits are -inf.
        """
        label_ids = [torch.tensor([self._label_ids[label] for label in each]) for each in labels]
        ids = pad_sequence(label_ids, batch_first=True)
        listed = pad_sequence([torch.ones_like(each, dtype=torch.bool) for each in label_ids], batch_first=True)
        sequences = [self.encode_prompt(prompt) for prompt in prompts]
        states, _, start = self._hidden(sequences, min(map(len, sequences)) - 1)
        hidden = states[torch.arange(len(sequences)), torch.tensor([len(each) for each in sequences]) - 1 - start]
        head = self.model.get_output_embeddings()
        rows = ids.to(head.weight.device)
        # In 32 bits: in bf16 the logits of many labels would be equal.
        logits = torch.einsum("bd,bkd->bk", hidden.float(), head.weight[rows].float())
        if getattr(head, "bias", None) is not None:
            logits = logits + head.bias[rows].float()
        return logits.cpu().masked_fill(~listed, float("-inf")), hidden.float().cpu()

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
        shared = shared_prefix(sequences, longest)
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
        padded = [[*each, *[self.end] * (width - len(each))] for each in sequences]
        ids = torch.tensor(padded, device=self.model.device)
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
        else:
            without_adapters(self.model)

    def _check_length(self, sequences: Sequence[tuple[int, ...]]) -> None:
        if (longest := max(map(len, sequences))) > self.positions:
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
        """Return the mean loss on the answers to several questions behind each of B prompts, and on the end.

        Neither questions nor prompts carry loss.
        """
        starts = [self.encode_prompt(prompt) for prompt in prompts]
        sequences, answers = [list(start) for start in starts], [[False] * len(start) for start in starts]
        for sequence, answer, pairs in zip(sequences, answers, asked, strict=True):
            for question, told in pairs:
                sequence += [*self.encode(question), *self.encode(told)]
                answer += [False] * self.count(question) + [True] * self.count(told)
            sequence.append(self.end)
            answer.append(True)
        # A shared prefix never reaches into a completion.
        states, ids, start = self._hidden([tuple(each) for each in sequences], min(map(len, starts)) - 1)
        padded = [[*each, *[False] * (start + ids.shape[1] - len(each))] for each in answers]
        wanted = torch.tensor(padded, device=ids.device)[:, start + 1 :]  # the token at place t + 1 is predicted at t
        logits = self.model.get_output_embeddings()(states[:, :-1][wanted])
        return torch.nn.functional.cross_entropy(logits.float(), ids[:, 1:][wanted]).cpu()

    def write(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Return the greedy completion of each prompt, up to the end token or `max_tokens`."""
        return [each.text for each in self.complete(prompts, max_tokens)]

    def complete(
        self,
        prompts: Sequence[str],
        max_tokens: int,
        draws: Sequence[np.random.Generator] | None = None,
        draft_from: Sequence[str] = (),
    ) -> list[GeneratedText]:
        """Return the completion of each prompt, up to the end token or `max_tokens`.

        `draws` holds a generator for each prompt, to sample at temperature 1; None decodes greedily, and a large model
        then speculates ahead, from the prompts and from texts `like` those that it may write.
        """
        speculates = draws is None and self._large and window(self.model.config) is None
        known = [self.encode(f" {each}") for each in draft_from] if speculates else []
        order = sorted(range(len(prompts)), key=lambda index: self.count(prompts[index]))
        told = [GeneratedText("", False)] * len(prompts)
        for first in range(0, len(order), _TOGETHER):
            batch = order[first : first + _TOGETHER]
            sequences = [self.encode_prompt(prompts[index]) for index in batch]
            self._check_length([(*each, self.end) for each in sequences])  # with room for a token
            most = min(max_tokens, self.positions - max(map(len, sequences)))
            self._take_turn()
            if speculates:
                written = write_speculatively(self.model, sequences, self.end, most, self._read_at_once, known)
            else:
                own = None if draws is None else [draws[index] for index in batch]
                written = write(self.model, sequences, self.end, most, self._read_at_once, own)
            for index, tokens in zip(batch, written, strict=True):
                text = self.tokenizer.decode(tokens, skip_special_tokens=True).strip()
                cut = len(tokens) == most
                told[index] = GeneratedText(text, cut, (*tokens, *[self.end] * (not cut)))
        return told

    @property
    def _read_at_once(self) -> int:
        """The most tokens, with padding, in a forward pass without gradient."""
        return _CPU_TOKENS if self.model.device.type == "cpu" else _GPU_TOKENS
