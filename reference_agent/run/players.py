"""Both players of Algorithm 1 with all that they are asked with: history, head, chat template, and so on.

Each step (`collect`, `fine_tune`, `reinforce`, `play`) is a function of the package, which is called here with what the
players share. The pipeline of a run and the agents of a protocol load players here.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from natlang_envs.errors import UsageError
from natlang_envs.evaluation import evaluate
from natlang_envs.evaluation.agents import AgentInput, Decision, name_of
from natlang_envs.evaluation.runs import Run, provenance
from natlang_envs.files import whole_folder, write_whole
from natlang_envs.prompt import History
from reference_agent import collection, rlft, rollout, sft
from reference_agent.curriculum import Environment, Stage, as_stages
from reference_agent.data_set import Example, as_examples
from reference_agent.models.backbone import disk_errors
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.saycan import with_head
from reference_agent.models.served import ServedModel
from reference_agent.players import PlayersAgent, Reflector
from reference_agent.rollout import Episode
from reference_agent.run.bounds import check_kind, refuse_given
from reference_agent.run.config import CollectConfig, Config, ModelConfig, PolicySFTConfig, RLConfig, SFTConfig
from reference_agent.run.config_file import dump_config
from reference_agent.run.progress import ProgressLines, Say, say
from reference_agent.run.stages import CODE, CONFIG, check_state, code_of, load_model, read_config, start_of
from reference_agent.state import Shown, StateFunction, path_of, shown_by
from reference_agent.teachers.base import Teacher
from reference_agent.tiny.making import tiny_folder

PAGE = "README.md"
_GLANCE = 24  # examples that the policy is asked about while it learns
_PAGE = Path(__file__).parents[1] / "data" / "players.md"


class Players:
    """A policy, its reflector, and the settings of their prompts.

    Attributes:
        policy: The policy.
        reflector: The reflector; None where the policy plays alone.
        config: What they are asked with: `history`, `head`, `reflection_tokens`, `reflections` and `model`.
    """

    def __init__(
        self, policy: LanguageModel, reflector: Reflector | None, config: Config, shown: Shown | None = None
    ) -> None:
        self.policy, self.reflector, self.config = policy, reflector, config
        self._shown: Shown = config.shown if shown is None else shown

    @classmethod
    def of(
        cls,
        model: str | Path | LanguageModel = "tiny",
        settings: ModelConfig = ModelConfig(),  # noqa: B008 - immutable
        *,
        reflect: bool = True,
        history: History = 1,
        state: StateFunction | None = None,
        head: Literal["labels", "saycan", "text"] = "labels",
        reflection_tokens: int = 48,
        reflections: Literal["greedy", "sampled"] = "greedy",
        seed: int = 0,
    ) -> Players:
        """Return two players that have learned nothing yet, on weights of their own.

        Args:
            model: What both start from: a name for `load_model`, or a model, which they leave as it is.
            settings: Precision, device, chat template; with `lora_rank` both are adapters on one base.
            reflect: Whether there is a reflector.
            history: How much of the path p(s) shows; see `natlang_envs.prompt.state_prompt`.
            state: A function of task, path, observation and commands that returns p(s), in place of `history`; one of
                a module, if the players are to be saved.
            head: How the policy chooses.
            reflection_tokens: The most tokens of a reflection.
            reflections: Whether they are the likeliest, or sampled at temperature 1.
            seed: Draws new adapters.

        Raises:
            UsageError: There is no such model, or a setting cannot be or has no effect on it.
        """
        check_kind(settings, ModelConfig)
        if isinstance(model, (str, Path)):
            base = load_model(model, replace(settings, lora_rank=0, lora_alpha=16, lora_targets="all-linear"))
            settings = replace(settings, name=str(Path(model).resolve() if Path(model).is_dir() else model))
        elif not isinstance(model, LanguageModel):
            raise UsageError(f"{model!r:.100} is no player: give LanguageModel.of(model, tokenizer), a name, a folder")
        elif settings != ModelConfig():
            raise UsageError("settings are for a model that is loaded here: give its name or folder, not the model")
        else:
            base, settings = model, ModelConfig(chat=model.chat)
        both = "adapters" if settings.lora_rank and reflect else "two"
        config = Config(
            history=history,
            reflect=reflect,
            players=both,
            head=head,
            reflection_tokens=reflection_tokens,
            reflections=reflections,
            model=settings,
        )
        if not reflect:
            refuse_given(config, ("reflections", "reflection_tokens"), "without a reflector (reflect = false)")
        if not settings.lora_rank:
            refuse_given(settings, ("lora_alpha", "lora_targets"), "without adapters (lora_rank = 0)", "model.")
            if seed:
                raise UsageError("seed has no effect without adapters, which it draws (lora_rank = 0): leave it out")

        def player(name: str) -> LanguageModel:
            return base.with_adapter(name, settings, seed=seed) if settings.lora_rank else base.copy()

        policy, reflector = with_head(player("policy"), config), None
        if reflect:
            reflector = Reflector(player("reflector"), reflection_tokens, False, reflections == "sampled")
        return cls(policy, reflector, config, shown_by(history, state))

    @classmethod
    def load(cls, folder: Path | str, policy: str = "policy", config: Config | None = None) -> Players:
        """Return the players of a folder that `save` or `reflect-rl train` wrote.

        Args:
            folder: The folder.
            policy: `"policy"`; `"policy-sft"`, the policy before RL; `"policy-last"`, RL's last, where not the best.
            config: Settings in place of the folder's own.

        Raises:
            UsageError: It holds none, its training has not ended, or it is damaged.
        """
        folder = Path(folder)
        config = config or read_config(folder, to_play=True)
        if not (folder / policy).exists():
            raise UsageError(f"{folder / policy} is missing: finish training with `reflect-rl train --out {folder}`")
        check_state(config, folder)
        player = load_player(config, folder, policy)
        return cls(player, _load_reflector(config, folder, player), config)

    def save(self, folder: Path | str) -> None:
        """Write the players whole or not at all, in folders that transformers and peft load; `README.md` says how.

        `natlang evaluate --agent players:FOLDER` plays them, and `reflect-rl publish` makes them small.

        Raises:
            UsageError: There is something in the folder already.
        """
        with _new_folder(folder, self._saved) as unfinished:
            for name, player in self._models.items():
                player.save(_made(unfinished / name))
            if self.config.model.is_tiny and self.config.model.lora_rank:
                shutil.copytree(tiny_folder(), unfinished / "base")

    def to_transformers(self, folder: Path | str) -> None:
        """Write the players as whole models that plain transformers loads; `README.md` beside them asks them.

        Adapters are added to their base, in 32 bits, so that neither peft nor the base is needed. `load` reads it too.

        Raises:
            UsageError: There is something in the folder already, or the base is in 8 bits.
        """
        alone = ModelConfig(chat=self.config.model.chat)
        players = "two" if self.config.players == "adapters" else self.config.players
        with _new_folder(folder, replace(self._saved, model=alone, players=players)) as unfinished:
            for name, player in self._models.items():
                player.save_whole(_made(unfinished / name))

    @property
    def _saved(self) -> Config:
        """The settings, which name the function that composes p(s)."""
        return replace(self.config, state=path_of(self._shown)) if callable(self._shown) else self.config

    @property
    def _models(self) -> dict[str, LanguageModel]:
        reflector = self.reflector.model if self.reflector else None
        return {"policy": self.policy, **({"reflector": reflector} if isinstance(reflector, LanguageModel) else {})}

    def _own(self, options: dict[str, Any]) -> dict[str, Any]:
        """Return options with what composes p(s), which none of them may change."""
        for each in ("history", "state"):
            if each in options:
                raise UsageError(f"these players have history = {self.config.history!r}: say it in Players.of")
        return {**options, "state" if callable(self._shown) else "history": self._shown}

    # Algorithm 1.

    def collect(
        self,
        env: Environment | Stage,
        teacher: Teacher | str = "oracle",
        settings: CollectConfig = CollectConfig(),  # noqa: B008 - immutable
        **options: Any,
    ) -> list[Example]:
        """Let a teacher play, and return the data set D; `options` and errors are those of `collect`."""
        return collection.collect(env, teacher, settings, reader=self.policy, **self._own(options))

    def fine_tune(
        self,
        examples: Sequence[Example],
        reflector: SFTConfig = SFTConfig(),  # noqa: B008 - immutable
        policy: PolicySFTConfig = PolicySFTConfig(),  # noqa: B008 - immutable
        *,
        seed: int = 0,
        say: Say = say,
    ) -> sft.Learned | None:
        """Teach both players by imitation (lines 21 and 22), and return what the policy has learned; None if it writes.

        `say` is called with a line now and then: a loss, or how often the policy chooses as the teacher, beside chance.
        Errors are those of `fine_tune_reflector`.
        """
        examples = as_examples(examples)
        reflect, told, chooses = self.reflector is not None, ProgressLines(say), self.config.head != "text"

        def glance(now: bool = False) -> None:
            if chooses and any(each.shown for each in examples):
                told.check(lambda: sft.learned(self.policy, examples, reflect, _GLANCE), now)

        def step(number: int, loss: float, _: float) -> None:
            told.step("policy, loss", number, policy.steps, loss)
            if number < policy.steps:
                glance()
                self.policy.model.train()

        if self.reflector is None and reflector != SFTConfig():
            raise UsageError("reflector has no effect without a reflector (reflect = false): leave it out")
        check_kind(reflector, SFTConfig)
        sft.check_policy(self.policy, examples, policy, reflect)
        glance(now=True)
        if self.reflector:
            model, steps = self._models["reflector"], reflector.steps
            sft.fine_tune_reflector(
                model, examples, reflector, seed, lambda at, loss, _: told.step("reflector, loss", at, steps, loss)
            )
        sft.fine_tune_policy(self.policy, examples, policy, seed, step, None, reflect)
        return sft.learned(self.policy, examples, reflect) if chooses else None

    def reinforce(
        self,
        stages: Stage | Sequence[Stage],
        settings: RLConfig = RLConfig(),  # noqa: B008 - immutable
        *,
        say: Say = say,
        **options: Any,
    ) -> list[rlft.Row]:
        """Let the policy learn from its own games (lines 23 to 35); `options` and errors are those of `reinforce`.

        `say` is called with the success of a batch now and then.
        """
        told, report, stages = ProgressLines(say), options.pop("report", lambda _: None), as_stages(stages)
        iterations = [each.iterations for each in stages]
        if stages and not any(iterations):
            raise UsageError("iterations is 0 in every stage, which trains nothing: give 1 or more")

        def row(row: rlft.Row) -> None:
            number = int(row["stage"])
            told.step(f"stage {number}, success", int(row["iteration"]), iterations[number], row["success"])
            report(row)

        options = {"one_model": self.config.players == "one", **self._own(options), "report": row}
        return rlft.reinforce(self.policy, self.reflector, stages, settings, **options)

    # Play.

    def play(self, env: Environment | Stage, **options: Any) -> list[Episode]:
        """Play without learning; `options` and errors are those of `play`."""
        options = {"one_model": self.config.players == "one", **self._own(options)}
        return rollout.play(env, self.policy, self.reflector, **options)

    def agent(self, sampling: bool = False) -> PlayersAgent:
        """Return them as an agent for evaluation, greedy or at temperature 1."""
        return PlayersAgent(self.policy, self.reflector, self._shown, sampling)

    def act(self, view: AgentInput) -> Decision:
        """Return a decision, the likeliest."""
        (decision,) = self.agent().act([view])
        return decision

    def evaluate(self, protocol: str, sampling: bool = False, **options: Any) -> Run:
        """Play a protocol, and return the run; `options`, such as `out`, and errors are those of `evaluate`.

        With `resume` a run of other weights or settings is refused.
        """
        agent = self.agent(sampling)
        if options.get("out") is not None and options.get("source") is None:
            source = provenance("object", name_of(agent))
            options["source"] = replace(source, checkpoint=self._fingerprint())
        run, _ = evaluate(agent, protocol, **{"name": "players", **options})
        return run

    def _fingerprint(self) -> str:
        weights = [each.fingerprint() for each in self._models.values()]
        return hashlib.sha256("\n".join([*weights, dump_config(self.config)]).encode()).hexdigest()


def load_player(config: Config, out: Path, folder: str) -> LanguageModel:
    if config.model.lora_rank:
        base = LanguageModel.load(start_of(config, out), config.model)
        player = base.with_adapter(folder.partition("-")[0], config.model, out / folder)
    else:
        player = LanguageModel.load(out / folder, config.model)
    return player if folder == "reflector" else with_head(player, config)


def _load_reflector(config: Config, out: Path, policy: LanguageModel) -> Reflector | None:
    """Return the reflector of a run, if it has one: on a server in RL, or as an adapter beside the policy's."""
    if not config.reflect:
        return None
    if config.rl.reflector_endpoint:
        base, trained = start_of(config, out), out / "reflector"
        command = f"vllm serve {base} --enable-lora --lora-modules reflector={trained}"
        if not config.model.lora_rank:
            base, command = trained, f"vllm serve {trained} --served-model-name reflector"
        model = ServedModel(base, config.rl.reflector_endpoint, command, config.model.chat)
    elif config.players == "one":
        model = policy
    elif config.players == "adapters":
        model = policy.with_adapter("reflector", config.model, out / "reflector")
    else:
        model = load_player(config, out, "reflector")
    return Reflector(model, config.reflection_tokens, False, config.reflections == "sampled")


@contextmanager
def _new_folder(folder: Path | str, config: Config) -> Iterator[Path]:
    """Make a folder of players, whole or not at all, with their settings and the page that says how to ask them."""
    folder = Path(folder)
    if folder.exists():
        raise UsageError(f"{folder} is there already: choose another folder")
    with whole_folder(folder, keep=True) as unfinished, disk_errors():
        write_whole(unfinished / CONFIG, dump_config(config).encode())
        if config.state:
            write_whole(unfinished / CODE, json.dumps(code_of(config)).encode())
        write_whole(unfinished / PAGE, _PAGE.read_bytes())
        yield unfinished


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder
