"""Writes a turn of TRL's rollout: a command, and before it a line of thought if one is asked for."""

# pyright: basic, reportMissingImports=false

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

from natlang_envs.answers import read_answer


class Written(NamedTuple):
    """The tokens of a turn, their log-probabilities, and the command in them."""

    tokens: list[int]
    chances: list[float]
    command: str


class Form:
    """The form of a turn, and which tokens can be sampled in it.

    Args:
        tokenizer: The model's.
        think: The most tokens of the line of thought, its end included; 0 for no such line.
        max_new_tokens: The most tokens of a command.
        listed_only: Whether only tokens of listed commands can be sampled in the command's line.
    """

    def __init__(self, tokenizer: Any, think: int, max_new_tokens: int, listed_only: bool) -> None:
        self.tokenizer, self.think, self.listed_only = tokenizer, think, listed_only
        self.longest = think + max_new_tokens
        self._ends: dict[int, bool] = {}

    def command(self, tokens: Sequence[int], listed: Sequence[str]) -> str:
        """Return the listed command in the tokens of a turn; without one, their line."""
        text = self.tokenizer.decode(tokens[self._begin(tokens) or 0 :], skip_special_tokens=True).strip()
        return read_answer(text, listed).command or text.partition("\n")[0].strip()

    def length(self, tokens: Sequence[int]) -> int | None:
        """Return how many tokens the turn has, or None where it goes on."""
        begin = self._begin(tokens)
        return None if begin is None else self._end(tokens, begin)

    def limit(self, tokens: Sequence[int], listed: Sequence[Sequence[int]], scores: Any) -> None:
        """Mask one row's scores, in place, except those of the tokens that can come next."""
        begin = self._begin(tokens)
        if begin is None and len(tokens) < self.think - 1:
            scores[self.tokenizer.eos_token_id] = float("-inf")  # the game goes on
        elif begin is None:
            _keep(scores, [self._new_line])
        elif self.listed_only:
            begun = list(tokens[begin:])
            following = {each[len(begun)] for each in listed if each[: len(begun)] == begun and len(each) > len(begun)}
            _keep(scores, sorted(following) or [self.tokenizer.eos_token_id])

    def _begin(self, tokens: Sequence[int]) -> int | None:
        """Return where the command begins, or None in the line of thought."""
        return self._end(tokens, 0) if self.think else 0

    def _end(self, tokens: Sequence[int], begin: int) -> int | None:
        ends = (at for at, token in enumerate(tokens[begin:], begin + 1) if self._ends_line(token))
        return next(ends, None)

    def _ends_line(self, token: int) -> bool:
        if token not in self._ends:
            self._ends[token] = token == self.tokenizer.eos_token_id or "\n" in self.tokenizer.decode([token])
        return self._ends[token]

    @cached_property
    def _new_line(self) -> int:
        return self.tokenizer("\n", add_special_tokens=False)["input_ids"][-1]


def _keep(scores: Any, tokens: list[int]) -> None:
    kept = scores[tokens]
    scores[:] = float("-inf")
    scores[tokens] = kept


def write(contexts: list[list[int]], commands: Sequence[Sequence[str]], trainer: Any, form: Form) -> list[Written]:
    """Return a turn after each context, sampled at the trainer's temperature, with log-probabilities before masking."""
    torch: Any = import_module("torch")  # natlang_envs itself does without
    tokenizer, temperature = trainer.processing_class, trainer.args.temperature
    model = trainer.accelerator.unwrap_model(trainer.model)
    end, longest, device = tokenizer.eos_token_id, max(map(len, contexts)), next(model.parameters()).device
    rows = [[end] * (longest - len(each)) + each for each in contexts]
    attention = [[0] * (longest - len(each)) + [1] * len(each) for each in contexts]
    listed = [[tokenizer(f"{each}\n", add_special_tokens=False)["input_ids"] for each in some] for some in commands]

    def limit(sequences: Any, scores: Any) -> Any:
        scores = scores.clone()  # the unmasked ones give the log-probabilities
        for tokens, known, row in zip(sequences[:, longest:].tolist(), listed, scores, strict=True):
            form.limit(tokens, known, row)
        return scores

    def ended(sequences: Any, *_: Any, **__: Any) -> Any:
        return torch.tensor([form.length(each) is not None for each in sequences[:, longest:].tolist()], device=device)

    training = model.training
    model.eval()
    with torch.no_grad():
        done = model.generate(
            input_ids=torch.tensor(rows, device=device),
            attention_mask=torch.tensor(attention, device=device),
            do_sample=True,
            temperature=temperature,
            max_new_tokens=form.longest,
            pad_token_id=end,
            logits_processor=[limit],
            stopping_criteria=[ended],
            output_logits=True,
            return_dict_in_generate=True,
        )
    model.train(training)
    written = done.sequences[:, longest:]
    each_step = [(logits.float() / temperature).log_softmax(-1) for logits in done.logits]
    chances = torch.stack(
        [step.gather(-1, tokens[:, None])[:, 0] for step, tokens in zip(each_step, written.T, strict=True)], 1
    )
    lines = [
        (tokens[: form.length(tokens)], scores, known)
        for tokens, scores, known in zip(written.tolist(), chances.tolist(), commands, strict=True)
    ]
    return [Written(tokens, scores[: len(tokens)], form.command(tokens, known)) for tokens, scores, known in lines]
