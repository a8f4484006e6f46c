"""Settings of a training run. Reading them from files is the job of `config_file.py`."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any

from natlang_envs.errors import UsageError, require_choice
from natlang_envs.prompt import History, check_history
from reference_agent.algorithms import Algorithm, algorithm_name, load_algorithm
from reference_agent.curriculum import Stage, as_stages
from reference_agent.run.bounds import at_least, check_bounds, choice, fraction, limit, positive, refuse_given, share
from reference_agent.state import Shown, load_state

PRECISIONS = ("fp32", "bf16", "auto")
# An older torch lacks the second. A core of an AMD EPYC makes 200 GFLOPS in bf16, 90 in fp32, by AVX-512 alone.
_FAST = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")


def settled_precision(precision: str, device: str) -> str:
    """Return "bf16" or "fp32", also for "auto", on this machine's `device`. Raises `UsageError` for any other."""
    if require_choice("precision", precision, PRECISIONS) != "auto":
        return precision
    import torch

    fast = device != "cpu" or any(getattr(torch.cpu, name, bool)() for name in _FAST)
    return "bf16" if fast else "fp32"


@dataclass(frozen=True)
class ModelConfig:
    """The base model of both players.

    Attributes:
        name: `"tiny"` makes a Llama of the sizes below; `"smollm2"` is the model that `reflect-rl models fetch smollm2`
            puts into the cache folder; any other name is a folder with a causal language model, or a hub id.
        layers: Number of layers of the tiny model.
        width: Size of its hidden states.
        inner: Size of its feed-forward layers.
        heads: Number of its attention heads.
        positions: Its context length in tokens.
        mimetic: Whether its attention starts with mimetic initialisation (Trockman and Kolter, 2023) and one
            previous-token head, so that it copies from context before it has learned anything.
        chat: Whether both players are asked in the tokenizer's chat template, as an instruct model expects.
        lora_rank: Rank of the LoRA adapters trained on the frozen model; 0 trains all weights.
        lora_alpha: LoRA's alpha; the update is scaled by lora_alpha / lora_rank.
        lora_targets: `"all-linear"`, `"default"` (PEFT's choice for the architecture), or layer names separated by
            commas, such as `"q_proj,v_proj"`.
        precision: Type of the frozen weights, `"fp32"` or `"bf16"`, or `"auto"`: bf16 on a GPU and on a processor that
            multiplies bf16 (AMX, AVX-512), fp32 on others and for published players. Trained weights are fp32.
        eight_bit: Whether the frozen weights are held in 8 bits (bitsandbytes).
        gradient_checkpointing: Whether updates recompute a layer's activations instead of keeping them.
        device: `"cpu"`, `"cuda"`, or `"auto"`: cuda if there is one.
    """

    name: str = "tiny"
    layers: int = at_least(1, 4)
    width: int = at_least(1, 128)
    inner: int = at_least(1, 344)
    heads: int = at_least(1, 4)
    positions: int = at_least(1, 512)
    mimetic: bool = False
    chat: bool = False
    lora_rank: int = at_least(0, 0)
    lora_alpha: int = at_least(1, 16)
    lora_targets: str = "all-linear"
    precision: str = choice(*PRECISIONS)
    eight_bit: bool = False
    gradient_checkpointing: bool = False
    device: str = choice("auto", "cpu", "cuda")

    def __post_init__(self) -> None:
        check_bounds(self, "model.")
        if not all(each.strip() for each in self.lora_targets.split(",")):
            raise UsageError(f'model.lora_targets is {self.lora_targets!r}: name layers, or "all-linear"')
        if self.width % (2 * self.heads):  # rotary positions turn the numbers of a head in pairs
            raise UsageError(f"model.width is {self.width}: give an even multiple of model.heads, {self.heads}")

    @property
    def is_tiny(self) -> bool:
        """Whether it is the tiny model, which is made for the settings."""
        return self.name == "tiny"

    def check_trainable(self) -> None:
        """Refuse weights of 8 or 16 bits without adapters: they are too coarse for the small steps of training."""
        coarse = {f'precision = "{self.precision}"': self.precision != "fp32", "eight_bit = true": self.eight_bit}
        for setting in [name for name, given in coarse.items() if given and not self.lora_rank]:
            raise UsageError(f"model.{setting} needs adapters to train: set model.lora_rank, for example to 16")


@dataclass(frozen=True)
class WarmupConfig:
    """Lessons that teach an untrained tiny model to read prompts; pretrained models skip them."""

    # On copying the command that a reflection names; Taxi, with its six commands, has none.
    copy_steps: int = at_least(0, 300)
    steps: int = at_least(0, 1500)  # the most, on finding a command's label
    levels: int = at_least(0, 8)  # of difficulty, after which the label lesson ends
    # On looking things up: walls between columns in Taxi (0 if its teacher names none), what a place holds in ALFWorld.
    lookup_steps: int = at_least(0, 0)
    direction_steps: int = at_least(0, 300)  # on deriving directions from coordinates
    seed: int = at_least(0, 1)  # training runs of all seeds start from the same model, as from a pretrained one
    batch: int = at_least(1, 64)  # prompts per step
    learning_rate: float = positive(1e-3)  # AdamW's

    def __post_init__(self) -> None:
        check_bounds(self, "warmup.")


@dataclass(frozen=True)
class TeacherConfig:
    """Choice of the teacher M_R; in a TOML file its options stand beside the name, say `walls = true`."""

    # "oracle" (that of the environment's family, else a generic one), "openai" (a chat model), or a name registered in
    # the entry-point group `natlang_envs.teachers`
    name: str = "oracle"
    options: dict[str, Any] = field(default_factory=dict[str, Any])  # each teacher documents its own

    def __post_init__(self) -> None:
        check_bounds(self, "teacher.")


@dataclass(frozen=True)
class CollectConfig:
    """Data collection (Algorithm 1, lines 2 to 20).

    Attributes:
        env: Environment of the teacher; empty for that of the first stage of the curriculum.
        trajectories: Number of the teacher's trajectories, N.
        policy_trajectories: The policy's warm start learns from this many of them, the first ones.
        negatives: Wrong actions tried at each step; the paper tries 1, and 0 collects no negative examples.
        restarts: Whether the reflector also learns each of these states as the first of a game, without its path.
        detours: Probability that a step of a trajectory is a random legal action, after which the teacher goes on.
            Actions that end the game or bring the goal nearer are not taken; if one leads away from the goal, the
            example after it is negative.
        wordings: Number of reflections requested for each state, in different words.
        policy_negatives: Whether the policy also learns from the negative examples of its trajectories.
        failures: Whether to keep trajectories that miss their goal; otherwise more tasks are played in their place.
        unclear: Largest share of examples that a student cannot know: p(s) does not show what the reflection names,
            quotes or regrets, or is taught with and without regret. More is refused.
        timeout: Largest number of seconds that a teacher takes for an answer; 0 for any. A chat model has its own.
    """

    env: str = ""
    trajectories: int = at_least(1, 25)
    policy_trajectories: int = at_least(0, 25)
    negatives: int = at_least(0, 1)
    restarts: bool = False
    detours: float = share()
    wordings: int = at_least(1, 1)
    policy_negatives: bool = False
    failures: bool = False
    unclear: float = fraction(0.1)
    timeout: float = at_least(0, 300.0)

    def __post_init__(self) -> None:
        check_bounds(self, "collect.")


@dataclass(frozen=True)
class SFTConfig:
    """Supervised fine-tuning of a player (lines 21 and 22).

    Attributes:
        steps: Number of updates.
        batch: Examples per update.
        learning_rate: Peak learning rate of AdamW: 20 steps of warm-up, or a third of fewer than 60 steps, then a
            linear decay to a twentieth.
        weight_decay: AdamW's weight decay.
        max_norm: Largest norm of the gradient; inf for any.
        microbatch: Examples in memory at once, of similar length; gradients accumulate. 0 takes the whole batch.
    """

    steps: int = at_least(0, 400)
    batch: int = at_least(1, 32)
    learning_rate: float = positive(1e-3)
    weight_decay: float = at_least(0, 1e-3)
    max_norm: float = limit(1.0)
    microbatch: int = at_least(0, 0)


@dataclass(frozen=True)
class PolicySFTConfig(SFTConfig):
    """Supervised fine-tuning of the policy (line 22).

    Attributes:
        smoothing: Label smoothing. It keeps the policy unsure, so that RL still explores.
        doubt: Share of the examples whose reflection names a random command instead of the teacher's, which teaches
            the policy not to trust its reflector blindly.
    """

    smoothing: float = share()
    doubt: float = share()


@dataclass(frozen=True)
class RLConfig:
    """RL fine-tuning (lines 23 to 35): `RLConfig("grpo", {"group": 8}, batch=64)`, `RLConfig(my_update)`.

    Attributes:
        algorithm: Policy gradient of line 34: `"reinforce"` (the paper's), `"rloo"`, `"ppo"`, `"grpo"`, `"gigpo"`,
            a name registered in the entry-point group `natlang_envs.algorithms`, a function
            `update(learner, episodes) -> Update`, or an `Algorithm`, which has settings too.
        options: Settings that this algorithm alone reads, by name; in a config the table `[rl.ALGORITHM]`. They become
            an instance of its `uses` (see `reference_agent.algorithms.methods`).
        batch: Episodes per iteration, B.
        minibatch: Decisions per update, the last steps of the episodes first (section 4.1.2).
        microbatch: Different prompts in memory at once during an update; gradients accumulate. 0 takes all.
        dropout: Where the model's dropout is on: `"off"`, in `"updates"`, or `"always"`, as in the authors' rollouts.
        dropout_rate: Attention dropout during RL, for a model without its own; 0 leaves the model as it is.
        learning_rate: Peak learning rate of AdamW, decaying linearly to a tenth over a stage.
        weight_decay: AdamW's weight decay.
        max_norm: Largest norm of the gradient; inf for any.
        entropy: Weight of the entropy bonus.
        reward_scale: Divisor of the rewards. Advantages over a baseline are divided by their standard deviation, so
            that it changes only what a critic learns, RLOO, and `baseline = "none"`.
        discount: Factor by which a reward counts less for each step that it comes later.
        normalise: What counts alike in the loss: every `"token"`, so that long episodes count more (a label is one
            token), or every `"episode"`.
        validate_every: Iterations between greedy games of the split `"validation"`, whose success is in the curve. A
            stage then ends with its weights that were best in them, those that it began with included; 0 for none, and
            it ends with the last.
        validate_episodes: Number of those games.
        patience: Validations in a row without a better one than before, after which a stage ends; 0 for never.
        checkpoint_every: Iterations between checkpoints.
        reflector_endpoint: Address of an OpenAI-compatible server that writes the frozen reflector's sentences, such as
            `"http://localhost:8000/v1"`; empty to compute them here.
    """

    algorithm: str | Algorithm | Callable[..., Any] = "reinforce"
    options: Any = field(default_factory=dict[str, Any])
    batch: int = at_least(1, 96)
    minibatch: int = at_least(1, 2048)
    microbatch: int = at_least(0, 32)
    dropout: str = choice("off", "updates", "always")
    dropout_rate: float = fraction()
    learning_rate: float = positive(4e-4)
    weight_decay: float = at_least(0, 1e-3)
    max_norm: float = limit(1.0)
    entropy: float = 0.0
    reward_scale: float = positive(1.0)
    discount: float = fraction(1.0)
    normalise: str = choice("token", "episode")
    validate_every: int = at_least(0, 0)
    validate_episodes: int = at_least(1, 100)
    patience: int = at_least(0, 0)
    checkpoint_every: int = at_least(1, 20)
    reflector_endpoint: str = ""

    def __post_init__(self) -> None:
        check_bounds(self, "rl.")
        uses, options = load_algorithm(self.algorithm).uses, self.options
        table = f"rl.{algorithm_name(self.algorithm)}."
        if isinstance(options, dict):
            if options and not fields(uses):
                wanted = "give Algorithm(update, uses), whose dataclass `uses` has them"
                raise UsageError(f"{table}{next(iter(options))} is no setting of a function alone: {wanted}")
            for name in options:
                require_choice("setting", f"{table}{name}", [f"{table}{each.name}" for each in fields(uses)])
            options = uses(**options)
            object.__setattr__(self, "options", options)
        if type(options) is not uses:
            wanted = f"give a table of names and values, or {uses.__name__}"
            raise UsageError(f"rl.options is {options!r:.100}: {wanted}")
        check_bounds(options, table)
        options.check(self.batch)
        if self.batch % self.group:
            raise UsageError(f"{table}group {self.group} does not divide rl.batch {self.batch}: change one of them")
        if self.reflector_endpoint and not re.match(r"https?://[^/]", self.reflector_endpoint):
            wanted = 'give an address such as "http://localhost:8000/v1"'
            raise UsageError(f"rl.reflector_endpoint is {self.reflector_endpoint!r}: {wanted}")
        if self.dropout == "off":
            refuse_given(self, ("dropout_rate",), "while rl.dropout is 'off'", "rl.")
        if not self.validate_every:
            refuse_given(self, ("validate_episodes", "patience"), "while rl.validate_every is 0", "rl.")

    @property
    def group(self) -> int:
        """Episodes of each task in a batch."""
        return self.options.group if load_algorithm(self.algorithm).compares else 1


@dataclass(frozen=True)
class Config:
    """A whole training run."""

    seed: int = at_least(0, 0)  # of everything random
    split: str = "train"  # of the training tasks
    allow_test: bool = False  # whether that, or a stage's, may be one that holds test tasks, "test" or "all"
    env_kwargs: dict[str, Any] = field(default_factory=dict[str, Any])  # of the environments: {"map": "generated"}
    history: History = 1  # steps of the path that p(s) shows, or a name that `state_prompt` knows, such as "commands"
    state: str = ""  # module:function that composes p(s) of task, path, observation and commands, in place of history
    reflect: bool = True  # whether there is a reflector
    # "two" models; two "adapters" on one base in memory; or one model fine-tuned on both jobs: as "one" it plays both,
    # so that RL moves its reflections too (appendix E.2); as "one-frozen" the reflector stays as it was before RL.
    players: str = choice("two", "adapters", "one", "one-frozen")
    reflections: str = choice("greedy", "sampled")  # sampled: at temperature 1 (line 28)
    reflection_tokens: int = at_least(1, 48)  # the most of a reflection
    # The choice of an action: all in one prompt, one label each; by the probability of each one's text ("saycan"); or
    # the policy writes its command, listed or not ("text").
    head: str = choice("labels", "saycan", "text")
    threads: int = at_least(1, 1)  # torch's; the result depends on their number
    model: ModelConfig = ModelConfig()
    warmup: WarmupConfig = WarmupConfig()
    teacher: TeacherConfig = TeacherConfig()
    collect: CollectConfig = CollectConfig()
    sft_reflector: SFTConfig = SFTConfig()
    sft_policy: PolicySFTConfig = PolicySFTConfig()
    rl: RLConfig = field(default_factory=RLConfig)  # which imports the algorithms
    curriculum: tuple[Stage, ...] = ()  # the stages, in order

    def __post_init__(self) -> None:
        check_bounds(self, "")
        check_history(self.history)
        if self.state:
            refuse_given(self, ("history",), "beside state, which composes p(s)")
        as_stages(self.curriculum)
        check_bounds(self.sft_reflector, "sft_reflector.")
        check_bounds(self.sft_policy, "sft_policy.")
        if self.players == "adapters" and not self.model.lora_rank:
            raise UsageError("players 'adapters' needs adapters to train: set model.lora_rank, for example to 16")
        if self.head == "text" and self.rl.entropy:
            raise UsageError("the entropy over all texts is not known: set rl.entropy = 0, or head = 'labels'")
        if self.one_model and not self.reflect:
            raise UsageError(f"players {self.players!r} needs a reflector: set reflect = true, or players = 'two'")
        if self.one_model and self.head != "labels":
            raise UsageError(f"players {self.players!r} choose by labels: set head = 'labels', or players = 'two'")
        if self.rl.reflector_endpoint and (self.players == "one" or not self.reflect):
            raise UsageError("rl.reflector_endpoint needs a frozen reflector: set reflect = true and players = 'two'")
        for stage in self.curriculum:
            for name in sorted(stage.env_kwargs.keys() & self.env_kwargs.keys()):
                raise UsageError(f"{name!r} is in env_kwargs and in a stage's: keep it in one of them")
        if self.collect.policy_trajectories > self.collect.trajectories:
            raise UsageError("collect.policy_trajectories is larger than collect.trajectories: lower it")

    @property
    def shown(self) -> Shown:
        """What composes p(s). Raises `UsageError` if there is no function `state`."""
        return load_state(self.state) if self.state else self.history

    @property
    def one_model(self) -> bool:
        return self.players in ("one", "one-frozen")

    @property
    def policy_settings(self) -> PolicySFTConfig:
        """The policy's warm start: without doubt where nobody reflects, without smoothing where no label is listed."""
        unread = {} if self.reflect else {"doubt": 0.0}
        return replace(self.sft_policy, **unread, **({} if self.head == "labels" else {"smoothing": 0.0}))

    @property
    def stages(self) -> tuple[Stage, ...]:
        """The stages, with all arguments of their environments. Raises `UsageError` if one has no env."""
        if not self.curriculum or not all(each.env for each in self.curriculum):
            raise UsageError("curriculum has no stage: give at least one [[curriculum]] with an env, or name a preset")
        common = {"split": self.split, **self.env_kwargs}
        return tuple(replace(each, env_kwargs={**common, **each.env_kwargs}) for each in self.curriculum)

    @property
    def demonstrations(self) -> Stage:
        if self.collect.env:
            return Stage(self.collect.env, 0, env_kwargs={"split": self.split, **self.env_kwargs})
        return Stage(self.stages[0].env, 0, env_kwargs=self.stages[0].env_kwargs)
