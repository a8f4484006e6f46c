"""Settings without effect beside others, such as PPO's in REINFORCE: the functions refuse them by name.

A config inherits from presets what its algorithm or head may not need; there only the settings that a user gives are
refused. Those that are left are put back to their defaults before the functions are called.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, TypeVar

from natlang_envs.errors import UsageError
from reference_agent.run.bounds import check_bounds
from reference_agent.run.config import CollectConfig, Config, ModelConfig, PolicySFTConfig, RLConfig, SFTConfig

Idle = dict[str, str]  # by the name of a setting that is not at its default: why it has no effect
S = TypeVar("S")

_LARGE = 10_000_000  # weights
_SIZES = ("layers", "width", "inner", "heads", "positions", "mimetic")
_ONE_UPDATE, _COMPARED = ("reinforce", "rloo"), ("rloo", "grpo", "gigpo")


def _idle(settings: object, names: Iterable[str], why: str) -> Idle:
    default: Any = type(settings)()
    return {name: why for name in names if getattr(settings, name) != getattr(default, name)}


def idle_collect(settings: CollectConfig, in_config: bool = False) -> Idle:
    """Return the settings without effect in `collect`, or in the config of a run."""
    found: Idle = {}
    if not in_config:
        found |= _idle(settings, ("env",), "here: the environment is the first argument")
    if not settings.negatives and not settings.detours:
        found |= _idle(settings, ("policy_negatives",), "without negatives or detours")
    if not settings.policy_trajectories:
        found |= _idle(settings, ("policy_negatives",), "where the policy learns from no trajectory")
    return found


def idle_policy(settings: PolicySFTConfig, reflect: bool, head: str) -> Idle:
    """Return the settings without effect in the policy's warm start."""
    found: Idle = {}
    if not reflect:
        found |= _idle(settings, ("doubt",), "without reflections")
    if head != "labels":
        found |= _idle(settings, ("smoothing",), f"with the head {head!r}, which has no list of labels to smooth over")
    return found


def idle_rl(settings: RLConfig) -> Idle:
    """Return the settings without effect in RL; those of other packages' algorithms may all have some."""
    found: Idle = {}
    name = f"in {settings.algorithm!r}"
    if settings.algorithm in _ONE_UPDATE:
        found |= _idle(settings, ("epochs", "ratio", "target_kl"), f"{name}, which takes one pass")
    if settings.algorithm in _COMPARED:
        found |= _idle(settings, ("baseline",), f"{name}, which compares the episodes of a task")
    if settings.critic:
        found |= _idle(settings, ("baseline",), "beside a critic")
    if settings.algorithm == "grpo":
        found |= _idle(settings, ("reward_scale",), f"{name}, which divides by each group's standard deviation")
    if settings.dropout == "off":
        found |= _idle(settings, ("dropout_rate",), "while rl.dropout is 'off'")
    return found


def idle_loaded(settings: ModelConfig, name: str) -> Idle:
    """Return the settings without effect in `load_model(name, settings)`."""
    found = _idle(settings, ("lora_rank", "lora_alpha", "lora_targets"), "here: they are with_adapter's")
    found |= _idle(settings, _SIZES, "on a model that exists; reflect-rl train makes tiny ones of other sizes")
    if settings.name != name:
        found |= _idle(settings, ("name",), "here: the name is the first argument")
    return found


def idle(config: Config) -> Idle:
    """Return the settings without effect in a run, with the names of their tables."""
    found: Idle = {}

    def add(table: str, more: Idle) -> None:
        found.update({f"{table}{name}": why for name, why in more.items()})

    def all_of(settings: object) -> list[str]:
        return [each.name for each in fields(settings)]  # type: ignore[arg-type]

    if not config.reflect:
        why = "without a reflector (reflect = false)"
        add("", _idle(config, ("reflections", "reflection_tokens"), why))
        add("sft_reflector.", _idle(config.sft_reflector, all_of(config.sft_reflector), why))
        add("collect.", _idle(config.collect, ("restarts",), why))
    if config.one_model:
        shared = ("steps", "learning_rate", "weight_decay", "clip")
        add("sft_policy.", _idle(config.sft_policy, shared, "in one model, which has those of sft_reflector"))
    elif not config.sft_policy.steps:
        others = [name for name in all_of(config.sft_policy) if name != "steps"]
        add("sft_policy.", _idle(config.sft_policy, others, "in a warm start of no steps"))
        add("collect.", _idle(config.collect, ("policy_negatives",), "in a warm start of no steps"))
    add("sft_policy.", idle_policy(config.sft_policy, config.reflect, config.head))
    add("collect.", idle_collect(config.collect, in_config=True))
    add("rl.", idle_rl(config.rl))
    if not config.model.is_tiny:
        add("model.", _idle(config.model, _SIZES, f"on {config.model.name!r}: they make a tiny model"))
        add("warmup.", _idle(config.warmup, all_of(config.warmup), f"on {config.model.name!r}, which is pretrained"))
    if not config.model.lora_rank:
        add("model.", _idle(config.model, ("lora_alpha", "lora_targets"), "without adapters (lora_rank = 0)"))
    for stage in config.curriculum:
        if not stage.advance_at:
            add("curriculum.", _idle(stage, ("advance_after",), "while advance_at is 0"))
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
