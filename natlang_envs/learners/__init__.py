"""Wrappers of environments for learners, and adapters of other libraries.

encoders         texts as vectors, for learners without a language model
wrappers         scaled rewards, actions by index, a reward for a milestone, chat messages
vector_wrappers  the same for vector environments, which stay fast
trl              TRL's GRPO: rollouts, a tool, rows and the reward
trl_writing      what a model writes in a turn of them: a thought, a command
minari           lets Minari keep the text spaces
openenv          an environment behind OpenEnv's protocol: `natlang serve`
tested_versions  the versions of other libraries that the adapters are tested with
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from natlang_envs.learners.encoders import EncodedObservations, Encoder, TextEncoder, TransformerEncoder

__all__ = ["EncodedObservations", "Encoder", "TextEncoder", "TransformerEncoder"]


def __getattr__(name: str) -> Any:
    """Return a public name of the encoders, which are imported at first use."""
    if name in __all__:
        from natlang_envs.learners import encoders

        return getattr(encoders, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
