"""A causal language model as a player: it writes text (reflector) or chooses one of the listed labels (policy).

Anything that transformers loads as a causal LM fits; the tiny Llama is made here from a config. The policy's
distribution is over the labels listed in its prompt only: the hidden state of the last position times those rows of
`lm_head` (the paper's section 4.3). Prefixes that many prompts of a batch share (task, map) are computed once.
It does not know about environments, and it has no LoRA or quantisation yet.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from transformers import AutoModelForCausalLM, AutoTokenizer, DynamicCache, LlamaConfig, LlamaForCausalLM
from transformers.utils import logging

from natlang_envs.enumeration import LABELS
from natlang_envs.errors import UsageError
from reference_agent.config import ModelConfig
from reference_agent.tokenizer import END, FEW, TokenizerSizes, make_tokenizer

# A tiny model is read and written in milliseconds, and its padding is masked: bars and reminders would hide our own.
logging.disable_progress_bar()
logging.set_verbosity_error()

_SHARING = 4  # a prefix is computed apart when at least this many prompts share it, on average


class LanguageModel:
    """A model and its tokenizer.

    Attributes:
        model: The transformers model.
        tokenizer: Its tokenizer.
        labels: The choice labels that are single tokens after a newline.
    """

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.model = model
        self.tokenizer = tokenizer
        self.end: int = tokenizer.eos_token_id
        self._ids: dict[str, tuple[int, ...]] = {}
        self._label_ids: dict[str, int] = {}
        for label in LABELS:
            ids = self.encode(f"\n{label}")
            newline = self.encode("\n")
            if len(ids) == len(newline) + 1 and ids[: len(newline)] == newline:
                self._label_ids[label] = ids[-1]
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
        # Rotary positions, because a path of another length moves all that follows: with GPT-2's learned positions a
        # model that compares coordinates at one place (100% right) is blind to them four tokens further on (0%).
        model = LlamaForCausalLM(
            LlamaConfig(
                vocab_size=len(tokenizer),
                max_position_embeddings=config.positions,
                hidden_size=config.width,
                num_hidden_layers=config.layers,
                num_attention_heads=config.heads,
                intermediate_size=config.inner,
                # At the usual 0.02 so small a model stays at chance on reading the labels for hundreds of steps.
                initializer_range=config.initializer_range,
                tie_word_embeddings=True,
                bos_token_id=end,
                eos_token_id=end,
                pad_token_id=end,
            )
        )
        return cls(model, tokenizer)

    @classmethod
    def load(cls, path: str | Path) -> LanguageModel:
        """Load a folder written by `save`, or any causal LM by hub id or folder.

        Raises:
            UsageError: There is no such model.
        """
        try:
            tokenizer = AutoTokenizer.from_pretrained(path)
            model = AutoModelForCausalLM.from_pretrained(path, dtype=torch.float32)
        except (OSError, ValueError, KeyError) as error:
            reason = str(error).splitlines()[0]
            raise UsageError(f"{path} holds no causal language model ({reason}): train one, or name another") from None
        if tokenizer.pad_token_id is None:
            tokenizer.pad_token = tokenizer.eos_token
        return cls(model, tokenizer)

    def save(self, folder: Path) -> None:
        """Write weights (safetensors), config and tokenizer."""
        self.model.save_pretrained(folder)
        self.tokenizer.save_pretrained(folder)

    def descend(self, optimizer: torch.optim.Optimizer, loss: Tensor, clip: float) -> float:
        """Take one step down `loss` with the gradient's norm cut to `clip`; return the norm before that."""
        optimizer.zero_grad()
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), clip)
        optimizer.step()
        return float(norm)

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
        if commands > len(self.labels):
            raise UsageError(
                f"{commands} commands need as many single-token labels, this tokenizer has {len(self.labels)}: "
                "use another model, or page the commands"
            )
        return self.labels[:commands]

    def choice_logits(self, prompts: Sequence[str], labels: Sequence[Sequence[str]]) -> Tensor:
        """Return the logits of the labels listed in each prompt.

        Args:
            prompts: B prompts.
            labels: For each prompt its labels, at most K.

        Returns:
            Tensor [B, K]; -inf where a prompt has fewer labels.
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
        logits = torch.einsum("bd,bkd->bk", hidden, head.weight[ids])
        if getattr(head, "bias", None) is not None:
            logits = logits + head.bias[ids]
        return logits.float().masked_fill(~listed, float("-inf"))

    def _hidden(self, sequences: Sequence[tuple[int, ...]], longest: int) -> tuple[Tensor, Tensor, int]:
        """Return the last layer's states [B, T, width] of the sequences from `start` on, their tokens [B, T], `start`.

        A prefix that many of them share, of at most `longest` tokens, is computed once for each different one, and
        left out of the result.
        """
        self._check_length(sequences)
        shared = _shared_prefix(sequences, longest)
        if not shared:
            return *self._run(sequences, 0, None), 0
        groups = {prefix: index for index, prefix in enumerate(sorted({each[:shared] for each in sequences}))}
        cache = DynamicCache()
        prefixes = torch.tensor(list(groups))
        self.model.base_model(prefixes, attention_mask=torch.ones_like(prefixes), past_key_values=cache, use_cache=True)
        cache.batch_select_indices(torch.tensor([groups[each[:shared]] for each in sequences]))
        return *self._run([each[shared:] for each in sequences], shared, cache), shared

    def _run(
        self, sequences: Sequence[tuple[int, ...]], start: int, cache: DynamicCache | None
    ) -> tuple[Tensor, Tensor]:
        # Padding stands on the right, where a causal model cannot see it from the last real token.
        ids = torch.full((len(sequences), max(map(len, sequences))), self.end)
        for row, each in enumerate(sequences):
            ids[row, : len(each)] = torch.tensor(each)
        positions = torch.arange(start, start + ids.shape[1]).expand_as(ids)
        seen = torch.ones(len(sequences), ids.shape[1] + (cache.get_seq_length() if cache else 0), dtype=torch.long)
        output = self.model.base_model(
            ids, attention_mask=seen, position_ids=positions, past_key_values=cache, use_cache=cache is not None
        )
        return output.last_hidden_state, ids

    def _check_length(self, sequences: Sequence[tuple[int, ...]]) -> None:
        longest = max(len(each) for each in sequences)
        if longest > self.positions:
            raise UsageError(
                f"a prompt of {longest} tokens does not fit the model's {self.positions}: "
                "lower `history` or raise model.positions"
            )

    # The reflector's side.

    def completion_loss(self, prompts: Sequence[str], completions: Sequence[str]) -> Tensor:
        """Return the mean loss on the completions' tokens and the end; the prompts' carry none (section 4.1.2)."""
        starts = [self.encode(prompt) for prompt in prompts]
        sequences = [
            (*start, *self.encode(completion), self.end) for start, completion in zip(starts, completions, strict=True)
        ]
        states, ids, start = self._hidden(sequences, min(map(len, starts)) - 1)
        # The token at place t + 1 is predicted at place t; a shared prefix never reaches into a completion.
        places = torch.arange(start, start + ids.shape[1] - 1)
        first = torch.tensor([len(each) for each in starts])[:, None]
        last = torch.tensor([len(each) for each in sequences])[:, None] - 1
        wanted = (places >= first - 1) & (places < last)
        logits = self.model.get_output_embeddings()(states[:, :-1][wanted])
        return torch.nn.functional.cross_entropy(logits.float(), ids[:, 1:][wanted])

    @torch.no_grad()
    def write(self, prompts: Sequence[str], max_tokens: int) -> list[str]:
        """Return the most likely completion of each prompt, word by word, up to the end token or `max_tokens`."""
        order = sorted(range(len(prompts)), key=lambda index: self.count(prompts[index]))
        texts = [""] * len(prompts)
        for first in range(0, len(order), 64):
            batch = order[first : first + 64]
            for index, text in zip(batch, self._write([prompts[i] for i in batch], max_tokens), strict=True):
                texts[index] = text
        return texts

    def _write(self, prompts: list[str], max_tokens: int) -> list[str]:
        sequences = [self.encode(prompt) for prompt in prompts]
        longest = max(len(each) for each in sequences)
        max_tokens = min(max_tokens, self.positions - longest)
        ids = torch.tensor([[self.end] * (longest - len(each)) + list(each) for each in sequences])
        mask = torch.tensor([[0] * (longest - len(each)) + [1] * len(each) for each in sequences])
        written = self.model.generate(
            ids,
            attention_mask=mask,
            max_new_tokens=max_tokens,
            do_sample=False,
            pad_token_id=self.end,
            eos_token_id=self.end,
        )
        return [text.strip() for text in self.tokenizer.batch_decode(written[:, longest:], skip_special_tokens=True)]


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
