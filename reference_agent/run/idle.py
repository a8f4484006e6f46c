"""Settings without effect beside others, such as PPO's in REINFORCE: the functions refuse them by name.

A config inherits from presets what its algorithm or head may not need; there only the settings that a user gives are
refused. Those that are left are put back to their defaults before the functions are called.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from typing import Any, TypeVar

from natlang_envs.errors import UsageError
from reference_agent.algorithms import load_algorithm
from reference_agent.curriculum import Stage
from reference_agent.run.bounds import check_bounds
from reference_agent.run.config import CollectConfig, Config, ModelConfig, PolicySFTConfig, RLConfig, SFTConfig

Idle = dict[str, str]  # by the name of a setting that is not at its default: why it has no effect
Rule = tuple[object, Iterable[str], str]  # whether it holds, which settings it makes idle, and why
S = TypeVar("S")

_LARGE = 10_000_000  # weights
_SIZES = ("layers", "width", "inner", "heads", "positions", "mimetic")


def _idle(settings: object, *rules: Rule) -> Idle:
    default: Any = type(settings)()
    found = {name: why for holds, names, why in rules if holds for name in names}
    return {name: why for name, why in found.items() if getattr(settings, name) != getattr(default, name)}


def _all_of(settings: Any) -> list[str]:
    return [each.name for each in fields(settings)]


def idle_collect(settings: CollectConfig, in_config: bool = False) -> Idle:
    """Return the settings without effect in `collect`, or in the config of a run."""
    negatives = settings.negatives or settings.detours
    return _idle(
        settings,
        (not in_config, ("env",), "here: the environment is the first argument"),
        (not negatives, ("policy_negatives",), "without negatives or detours"),
        (not settings.policy_trajectories, ("policy_negatives",), "where the policy learns from no trajectory"),
    )


def idle_policy(settings: PolicySFTConfig, reflect: bool, head: str) -> Idle:
    """Return the settings without effect in the policy's warm start."""
    unlisted = f"with the head {head!r}, which has no list of labels to smooth over"
    return _idle(
        settings, (not reflect, ("doubt",), "without reflections"), (head != "labels", ("smoothing",), unlisted)
    )


def idle_rl(settings: RLConfig) -> Idle:
    """Return the settings without effect in RL; those of other packages' algorithms may all have some."""
    name, algorithm = settings.algorithm, load_algorithm(settings.algorithm)
    return _idle(
        settings,
        (True, algorithm.unread, f"in {name!r}, which reads {', '.join(algorithm.uses or ())}"),
        (settings.critic, ("baseline",), "beside a critic"),
        (settings.dropout == "off", ("dropout_rate",), "while rl.dropout is 'off'"),
        (not settings.reference_kl, ("exact_kl",), "without rl.reference_kl"),
        (not settings.validate_every, ("validate_episodes", "patience"), "while rl.validate_every is 0"),
    )


def idle_in(settings: RLConfig, stages: Sequence[Stage]) -> Idle:
    """Return the settings without effect in RL through a curriculum."""
    if not stages:
        return {}
    longest = max(each.iterations for each in stages)
    validation = ("validate_every", "validate_episodes", "patience")
    return _idle(
        settings,
        (settings.validate_every > longest, validation, f"in stages of at most {longest} iterations"),
        (not longest, _all_of(settings), "in a curriculum without iterations"),
    )


def idle_loaded(settings: ModelConfig, name: str) -> Idle:
    """Return the settings without effect in `load_model(name, settings)`."""
    return _idle(
        settings,
        (True, ("lora_rank", "lora_alpha", "lora_targets"), "here: they are with_adapter's"),
        (True, _SIZES, "on a model that exists; reflect-rl train makes tiny ones of other sizes"),
        (settings.name != name, ("name",), "here: the name is the first argument"),
    )


def idle(config: Config) -> Idle:
    """Return the settings without effect in a run, with the names of their tables."""
    reflector, policy, model = config.sft_reflector, config.sft_policy, config.model
    silent, why = not config.reflect, "without a reflector (reflect = false)"
    still, no_steps = not config.one_model and not policy.steps, "in a warm start of no steps"
    shared = ("steps", "learning_rate", "weight_decay", "clip")
    made = not model.is_tiny
    tables = {
        "": _idle(config, (silent, ("reflections", "reflection_tokens"), why)),
        "sft_reflector.": _idle(reflector, (silent, _all_of(reflector), why)),
        "collect.": _idle(config.collect, (silent, ("restarts",), why), (still, ("policy_negatives",), no_steps))
        | idle_collect(config.collect, in_config=True),
        "sft_policy.": _idle(
            policy,
            (config.one_model, shared, "in one model, which has those of sft_reflector"),
            (still, [name for name in _all_of(policy) if name != "steps"], no_steps),
        )
        | idle_policy(policy, config.reflect, config.head),
        "rl.": idle_rl(config.rl) | idle_in(config.rl, config.curriculum),
        "model.": _idle(
            model,
            (made, _SIZES, f"on {model.name!r}: they make a tiny model"),
            (not model.lora_rank, ("lora_alpha", "lora_targets"), "without adapters (lora_rank = 0)"),
        ),
        "warmup.": _idle(config.warmup, (made, _all_of(config.warmup), f"on {model.name!r}, which is pretrained")),
    }
    found = {f"{table}{name}": why for table, names in tables.items() for name, why in names.items()}
    if any(_idle(each, (not each.advance_at, ("advance_after",), "")) for each in config.curriculum):
        found["curriculum.advance_after"] = "while advance_at is 0"
    return found


def refuse(table: str, found: Idle, given: Iterable[str] | None = None) -> None:
    """Raise `UsageError` for the first setting without effect, of those that are `given`; None for any."""
    for name, why in found.items():
        if given is None or f"{table}{name}" in given:
            raise UsageError(f"{table}{name} has no effect {why}: leave it out")


def without(settings: S, found: Idle) -> S:
    """Return settings with those without effect at their defaults."""
    default: Any = type(settings)()
    return replace(settings, **{name: getattr(default, name) for name in found})  # type: ignore[type-var]


def check_kind(settings: Any, kind: type) -> None:
    """Raise `UsageError` unless settings are of this very class: those of another would be left unread in part."""
    if type(settings) is not kind:
        raise UsageError(f"the settings are {settings!r:.100}: give a {kind.__name__}")


def check_rate(model: Any, settings: Any, default: Any) -> None:
    """Raise `UsageError` if all weights of a large model would learn as fast as the tiny one's do by default."""
    count = model.model.num_parameters()
    if model.adapter is None and count >= _LARGE and settings.learning_rate == default.learning_rate:
        raise UsageError(
            f"learning_rate {default.learning_rate} is for the tiny model and would wreck one of {count:,} weights: "
            "give one of your own, such as 1e-5, or train adapters (with_adapter)"
        )


def check_sft(settings: SFTConfig) -> None:
    """Raise `UsageError` if the settings of a fine-tuning cannot be, or do nothing."""
    check_bounds(settings, "")
    if not settings.steps:
        raise UsageError("steps is 0, which trains nothing: give 1 or more")
