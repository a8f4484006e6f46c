"""A chat model that nobody fine-tuned, asked for a label as its chat template has it.

The prompt is the one that all policies read, behind one sentence that says how to answer, as a user's turn; the label
is the first token of the model's own turn.
"""

from __future__ import annotations

from collections.abc import Sequence

from natlang_envs.enumeration import Choice
from natlang_envs.errors import UsageError
from reference_agent.models.language_model import LanguageModel

ROLE = "You act in an environment of texts. Answer with the letter of the best of the listed actions, and nothing else."
_HERE = "<prompt>"  # where the prompt stands in the template


class ChatPolicy(LanguageModel):
    """A language model that is asked in its tokenizer's chat template.

    Args:
        model: The model; both share its weights and settings.

    Raises:
        UsageError: Its tokenizer has no chat template.
    """

    def __init__(self, model: LanguageModel) -> None:
        self.__dict__.update(vars(model))
        if not self.tokenizer.chat_template:
            raise UsageError("the model's tokenizer has no chat template: ask it as zero-shot, without -chat")
        turn = [{"role": "user", "content": f"{ROLE}\n\n{_HERE}"}]
        whole = self.tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
        self._before, _, self._behind = whole.partition(_HERE)

    def ask(self, state: str, reflection: str | None, choices: Sequence[Choice]) -> str:
        """Return the user's turn with the prompt of any policy, up to where the model's own turn begins."""
        return f"{self._before}{super().ask(state, reflection, choices).rstrip()}{self._behind}"
