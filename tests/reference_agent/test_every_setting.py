"""Every setting of every public class changes the result, or is refused where it has no effect.

A field without a case fails `test_every_field_has_a_case`.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import asdict, fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from natlang_envs.errors import UsageError
from natlang_envs.prompt import PathStep
from reference_agent import Moment, WritingPolicy, collect, fine_tune_policy, fine_tune_reflector, load_model, reinforce
from reference_agent.algorithms.methods import GroupPassesSettings, PPOSettings, ReinforceSettings, RLOOSettings
from reference_agent.collection import gather
from reference_agent.curriculum import Stage
from reference_agent.data_set import Example
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.saycan import head_of, with_head
from reference_agent.run.config import (
    CollectConfig,
    Config,
    ModelConfig,
    PolicySFTConfig,
    RLConfig,
    SFTConfig,
    TeacherConfig,
)
from reference_agent.run.config_file import load_config, parse_config
from reference_agent.run.pipeline import check_environments
from reference_agent.run.stages import stage_key
from tests.support.corridor import Corridor

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
walk_on = partial(Corridor, "train")


class Case(NamedTuple):
    """A change from settings `at` that must be seen in the result, or be `refused` in these words."""

    change: dict[str, Any]
    at: dict[str, Any] = {}  # noqa: RUF012
    refused: str = ""


def case(name: str, value: Any, refused: str = "", **at: Any) -> tuple[str, Case]:
    return name, Case({name: value}, at, refused)


class Wavering:
    """A teacher that takes its time, and gives up on some tasks."""

    restarts = True

    def __init__(self, hidden: bool) -> None:
        self._says = "It is in room_9. " * hidden

    def __call__(self, moment: Moment) -> tuple[str, str]:
        time.sleep(0.02 * (not moment.path))
        action = moment.env.oracle()[0]
        lost = moment.info["task_id"].endswith(("0", "4"))
        return f"{self._says}So I {action}.", moment.commands[0] if lost else action


def passes(**at: Any) -> list[tuple[str, Case]]:
    return [
        case("epochs", 1, target_kl=0.0, **at),
        case("clip", 1e-6, target_kl=0.0, **at),
        case("target_kl", 1e-9, minibatch=4, **at),
        case("reference_kl", 5.0, target_kl=0.0, **at),
        case("exact_kl", False, reference_kl=5.0, target_kl=0.0, **at),
        case("exact_kl", False, "without reference_kl", **at),
    ]


OF_ALGORITHMS = {ReinforceSettings: "reinforce", PPOSettings: "ppo", RLOOSettings: "rloo", GroupPassesSettings: "gigpo"}
CASES: dict[type, list[tuple[str, Case]]] = {
    CollectConfig: [
        case("env", PICKUP, "has no effect here: the environment is the first argument"),
        case("trajectories", 4),
        case("policy_trajectories", 1),
        case("negatives", 0),
        case("restarts", True),
        case("detours", 0.3),
        case("wordings", 2),
        case("policy_negatives", True),
        case("policy_negatives", True, "has no effect without negatives or detours", negatives=0),
        case("policy_negatives", True, "has no effect where the policy learns from no", policy_trajectories=0),
        case("failures", True),
        case("unclear", 0.0, "teach what a student cannot know", hidden=True),
        case("timeout", 0.001),
    ],
    SFTConfig: (
        sft := [
            case("steps", 2),
            case("steps", 0, "trains nothing"),
            case("batch", 3),
            case("learning_rate", 1e-4),
            case("learning_rate", -1.0, "give a number above 0"),
            case("weight_decay", 10.0),
            case("max_norm", 1e-4),
            case("microbatch", 2),
        ]
    ),
    PolicySFTConfig: [
        *sft,
        case("smoothing", 0.5),
        case("smoothing", 0.5, "with the head 'text'", head="text"),
        case("smoothing", 0.5, "with the head 'saycan'", head="saycan"),
        case("doubt", 0.9),
        case("doubt", 0.9, "without reflections", reflect=False),
    ],
    RLConfig: [
        case("algorithm", "ppo"),
        case("options", {"baseline": "none"}),
        case("options", {"group": 2}, "unknown setting 'rl.reinforce.group'"),
        case("batch", 4),
        case("minibatch", 4),
        case("microbatch", 2),
        case("dropout", "always", dropout_rate=0.4, at_first="updates"),
        case("dropout", "updates", "on a model without dropout"),
        case("dropout_rate", 0.4, dropout="updates", at_first=0.1),
        case("dropout_rate", 0.4, "while rl.dropout is 'off'"),
        case("learning_rate", 1e-5),
        case("weight_decay", 50.0),
        case("max_norm", 1e-4),
        case("entropy", 1.0),
        case("entropy", 1.0, "on a policy that writes", head="text"),
        case("reward_scale", 50.0, options={"baseline": "none"}),
        case("discount", 0.5, reward_scale=10.0, options={"baseline": "none"}),
        case("discount", 1.5, "give a number from 0 to 1"),
        *(case("discount", 0.5, algorithm=name, options={"group": 2}) for name in ("rloo", "gigpo")),
        case("discount", 0.5, algorithm="ppo", options={"critic": True}),
        case("normalise", "episode"),
        *(case("normalise", "episode", algorithm=name, options={"group": 2}) for name in ("rloo", "grpo")),
        case("normalise", "episode", algorithm="ppo"),
        case("validate_every", 1, env=PICKUP),
        case("validate_every", 1, "of an environment's id: register yours"),
        case("validate_every", 1, "learns from 'validation' itself", env=PICKUP, split="validation"),
        case("validate_episodes", 7, validate_every=1, env=PICKUP),
        case("validate_episodes", 7, "while rl.validate_every is 0"),
        case("patience", 1, validate_every=1, validate_episodes=1, env=PICKUP),
        case("patience", 1, "while rl.validate_every is 0"),
        case("checkpoint_every", 1),
        case("reflector_endpoint", "http://localhost:1/v1", "here: reflect-rl train asks the server"),
    ],
    ReinforceSettings: [case("baseline", "none"), case("baseline", "step", "nothing to compare", batch=1)],
    PPOSettings: [
        *passes(),
        case("exact_kl", False, "on a policy that writes", reference_kl=5.0, head="text"),
        case("baseline", "none"),
        case("baseline", "none", "beside a critic", critic=True),
        case("critic", True),
    ],
    RLOOSettings: [case("group", 2, at_first=3), case("group", 4, "does not divide"), case("group", 1, "2 or more")],
    GroupPassesSettings: [*passes(group=2), case("group", 2, at_first=3), case("group", 1, "2 or more")],
    ModelConfig: [
        case("name", "smollm2", "the name is the first argument"),
        *(case(name, 8, "on a model that exists") for name in ("layers", "width", "inner", "positions")),
        case("heads", 2, "on a model that exists"),
        case("mimetic", True, "on a model that exists"),
        case("chat", True, "has no chat template"),
        *(case(name, 8, "they are with_adapter's") for name in ("lora_rank", "lora_alpha")),
        case("lora_targets", "default", "they are with_adapter's"),
        case("precision", "bf16"),
        case("eight_bit", True),
        case("gradient_checkpointing", True),
        case("device", "cpu" if torch.cuda.is_available() else "cuda"),
    ],
    Stage: [
        case("env", partial(Corridor, "validation")),
        case("iterations", 1),
        case("advance_at", 1e-9, advance_after=1, iterations=4),
        case("advance_after", 1, advance_at=1e-9, iterations=4),
        case("longest_plan", 3),
        case("env_kwargs", {"split": "validation"}, env=PICKUP),
        case("env_kwargs", {"horizon": 3}, "are for an environment's id"),
    ],
    TeacherConfig: [
        case("name", "generic"),
        case("options", {"regret": "last"}),
        case("options", {"regrets": "last"}, "has no option 'regrets'"),
    ],
    Config: [
        case("seed", 1),
        case("split", "validation"),
        case("split", "test", "holds test tasks"),
        ("allow_test", Case({"allow_test": True, "split": "test"})),
        case("env_kwargs", {"map": "generated"}),
        case("history", 3),
        case("state", f"{__name__}:brief_state"),
        case("reflect", False),
        case("players", "one"),
        case("reflections", "sampled"),
        case("reflection_tokens", 9),
        case("head", "text"),
        case("threads", 2),
        case("model", {"layers": 2}),
        case("warmup", {"steps": 2}),
        case("teacher", {"regret": "last"}),
        case("collect", {"negatives": 0}),
        case("sft_reflector", {"steps": 2}),
        case("sft_policy", {"steps": 2}),
        case("rl", {"batch": 3}),
        case("curriculum", [{"env": PICKUP}, {"env": PICKUP}]),
    ],
}


def brief_state(task: str, path: Sequence[PathStep], observation: str, commands: Sequence[str]) -> str:
    return f"{task}\nObservation: {observation}\nCommands: {len(path)}, {', '.join(commands)}"


def test_every_field_has_a_case() -> None:
    for settings, cases in CASES.items():
        assert {name for name, _ in cases} == {each.name for each in fields(settings)}, settings.__name__


def played(settings: CollectConfig, hidden: bool) -> Any:
    try:
        rows = collect(walk_on, Wavering(hidden), settings)
    except UsageError as error:
        if "no answer" not in str(error):
            raise
        return str(error)
    return [asdict(each) for each in rows]


def tuned(model: LanguageModel, examples: list[Example], settings: SFTConfig, head: str, reflect: bool) -> Any:
    own, read = with_head(model.copy(), Config(head=head)), list[int]()
    own.model.base_model.register_forward_pre_hook(lambda *_: read.append(1))
    if isinstance(settings, PolicySFTConfig):
        fine_tune_policy(own, examples, settings, reflect=reflect)
    else:
        fine_tune_reflector(own, examples, settings)
    return own.fingerprint(), sum(read)


def reinforced(model: LanguageModel, stage: Stage, settings: RLConfig, head: str, folder: Path) -> Any:
    own, read, saved = with_head(model.copy(), Config(head=head)), list[int](), list[int]()
    own.model.base_model.register_forward_pre_hook(lambda *_: read.append(1))
    curve = reinforce(
        own, None, stage, settings, folder=folder, report=lambda _: saved.append(len([*folder.glob("iteration-*")]))
    )
    return own.fingerprint(), len(read), saved, curve


def run_of(settings: dict[str, Any]) -> Any:
    """Return what a run does with its top-level settings, without running it."""
    config = parse_config({"curriculum": [{"env": PICKUP}], **settings})
    check_environments(config)
    rl = [asdict(config.rl), [asdict(each) for each in config.stages], config.seed, config.reflections]
    keys = [stage_key(config, stage) for stage in ("data", "reflector", "policy-sft")]
    return keys, rl, config.players, config.reflection_tokens, config.reflect, config.threads


def result(kind: type, values: dict[str, Any], model: LanguageModel, examples: list[Example], folder: Path) -> Any:
    values = {name: value for name, value in values.items() if name != "at_first"}
    head, reflect = values.pop("head", "labels") if kind is not Config else "labels", values.pop("reflect", True)
    if kind is Config:
        return run_of({**values, **({} if reflect else {"reflect": False})})
    if kind is CollectConfig:
        hidden = values.pop("hidden", False)
        return played(CollectConfig(**{"trajectories": 3, "policy_trajectories": 3, **values}), hidden)
    if issubclass(kind, SFTConfig):
        return tuned(model, examples, kind(**{"steps": 3, "batch": 4, **values}), head, reflect)
    if algorithm := OF_ALGORITHMS.get(kind):
        own = {each.name: values.pop(each.name) for each in fields(kind) if each.name in values}
        kind, values = RLConfig, {**values, "algorithm": algorithm, "options": own}
    if kind is RLConfig:
        env, split = values.pop("env", walk_on), values.pop("split", None)
        stage = Stage(env, 3 if env == PICKUP else 2, env_kwargs={"split": split} if split else {})
        return reinforced(model, stage, RLConfig(**{"batch": 6, "learning_rate": 1e-2, **values}), head, folder)
    if kind is Stage:
        stage = Stage(**{"env": walk_on, "iterations": 2, "advance_after": 5, **values})
        return reinforced(model, stage, RLConfig(batch=6), head, folder)[::3]
    if kind is ModelConfig:
        try:
            loaded = load_model("tiny", ModelConfig(**values))
        except UsageError as error:  # a machine may have no GPU
            if not {"eight_bit", "device"} & values.keys():
                raise
            return str(error)
        return loaded.fingerprint(), str(loaded.model.device), len(loaded._checkpointed)
    run = {"curriculum": [{"env": PICKUP}], "collect": {"trajectories": 2, "policy_trajectories": 2}}
    return [asdict(row) for row in gather(parse_config({**run, "teacher": values})).examples]


@pytest.fixture(scope="module")
def unchanged() -> dict[str, Any]:
    """The results without a change, of which many cases have the same."""
    return {}


ALL = [(kind, name, each) for kind, cases in CASES.items() for name, each in cases]


@pytest.mark.xdist_group("settings")  # one process has the results without a change
@pytest.mark.parametrize(
    ("kind", "name", "each"),
    ALL,
    ids=[f"{kind.__name__}.{name}{'-refused' * bool(c.refused)}" for kind, name, c in ALL],
)
def test_a_setting_changes_the_result_or_is_refused(
    kind: type,
    name: str,
    each: Case,
    model: LanguageModel,
    examples: list[Example],
    unchanged: dict[str, Any],
    tmp_path: Path,
) -> None:
    def of(values: dict[str, Any], folder: str) -> Any:
        return result(kind, values, model, examples, tmp_path / folder)

    changed = {**each.at, **each.change}
    if each.refused:
        with pytest.raises(UsageError, match=each.refused) as caught:
            of(changed, "changed")
        assert "\n" not in str(caught.value)
    else:
        first = {name: each.at["at_first"]} if "at_first" in each.at else {}
        before = {**each.at, **first}
        key = f"{kind.__name__} {before}"
        if key not in unchanged:
            unchanged[key] = of(before, "before")
        assert unchanged[key] != of(changed, "changed")


# Of a config, only what the user gives is refused: from presets it inherits more than it needs.


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        (["reflect=false", "sft_policy.doubt=0.2"], r"^sft_policy\.doubt has no effect without reflections"),
        (["reflect=false", "reflection_tokens=9"], "^reflection_tokens has no effect without a reflector"),
        (["reflect=false", "sft_reflector.steps=9"], r"^sft_reflector\.steps has no effect without a reflector"),
        (["head='saycan'", "sft_policy.smoothing=0.1"], r"^sft_policy\.smoothing has no effect with the head 'saycan'"),
        (["players='one'", "sft_policy.steps=9"], r"^sft_policy\.steps has no effect in one model"),
        (["sft_policy.steps=0", "sft_policy.batch=9"], r"^sft_policy\.batch has no effect in a warm start of no steps"),
        (["model.lora_alpha=32"], r"^model\.lora_alpha has no effect without adapters"),
        (["model.name='gpt2'", "model.layers=2"], r"^model\.layers has no effect on 'gpt2': they make a tiny model"),
        (["model.name='gpt2'", "warmup.steps=2"], r"^warmup\.steps has no effect on 'gpt2', which is pretrained"),
        (
            [f"curriculum=[{{env='{PICKUP}', iterations=0}}]", "rl.batch=8"],
            r"^rl\.batch has no effect in a curriculum without iterations",
        ),
        ([f"curriculum=[{{env='{PICKUP}', advance_after=3}}]"], r"^curriculum\.advance_after has no effect while"),
    ],
)
def test_a_setting_given_to_a_run_that_has_no_effect_is_refused(settings: list[str], words: str) -> None:
    with pytest.raises(UsageError, match=f"{words}.*: leave it out$"):
        load_config(None, settings)
    load_config(None, settings, for_many=True)


def test_what_a_file_of_the_users_own_says_is_given_and_what_a_preset_says_is_not(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text("reflect = false\n[sft_policy]\ndoubt = 0.3\n")
    with pytest.raises(UsageError, match=r"^sft_policy\.doubt has no effect without reflections"):
        load_config(file)
    assert load_config(Path("presets/shipped"), ["reflect=false"]).sft_policy.doubt


def test_heads_have_the_names_of_the_settings(model: LanguageModel) -> None:
    for head in ("labels", "saycan", "text"):
        assert head_of(with_head(model, Config(head=head))) == head
    assert head_of(WritingPolicy(model)) == "text"
