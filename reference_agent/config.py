"""Settings of a training run. It does not know how they are written down: that is `config_file.py`."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from natlang_envs.errors import UsageError, one_of
from reference_agent.number_checks import at_least, positive, shares


@dataclass(frozen=True)
class ModelConfig:
    """The backbone of both players.

    Attributes:
        name: `"tiny"` makes a Llama of the sizes below; `"smollm2"` is what `reflect-rl models fetch smollm2` puts into
            the cache folder; any other name is a folder with a causal language model, or a hub id.
        layers: Of the tiny model, as the following five.
        width: Of a hidden state.
        inner: Of a hidden layer.
        heads: Of attention.
        positions: The largest number of tokens in a prompt.
        initializer_range: Standard deviation of the untrained weights.
        mimetic: Whether the tiny model's keys start as its queries, and its outputs as its values transposed (Trockman
            and Kolter, 2023), and one head at the token before, so that attention finds what stood behind an equal
            token before anything is learned.
        lora_rank: Of the adapters (LoRA) that are trained on the frozen model; 0 trains all weights.
        lora_alpha: Their update is scaled by lora_alpha / lora_rank.
        lora_dropout: In front of them; 0 keeps the policy that samples and the policy that learns the same.
        lora_targets: `"all-linear"`, `"default"` (what PEFT chooses for the architecture), or layers' names between
            commas, such as `"q_proj,v_proj"`.
        precision: Of the frozen weights, `"fp32"` or `"bf16"`; what is trained is fp32.
        eight_bit: Whether the frozen weights are held in 8 bits (bitsandbytes).
        gradient_checkpointing: Whether updates compute what is inside a layer again instead of keeping it.
        device: `"cpu"`, `"cuda"`, or `"auto"`: cuda where there is one.
    """

    name: str = "tiny"
    layers: int = 4
    width: int = 128
    inner: int = 344
    heads: int = 4
    positions: int = 512
    initializer_range: float = 0.08
    mimetic: bool = False
    lora_rank: int = 0
    lora_alpha: int = 16
    lora_dropout: float = 0.0
    lora_targets: str = "all-linear"
    precision: str = "fp32"
    eight_bit: bool = False
    gradient_checkpointing: bool = False
    device: str = "cpu"

    def __post_init__(self) -> None:
        """Check what types cannot say."""
        one_of("model.precision", self.precision, ("fp32", "bf16"))
        one_of("model.device", self.device, ("cpu", "cuda", "auto"))
        at_least("model.", self, layers=1, width=1, inner=1, heads=1, positions=1)
        if self.width % (2 * self.heads):  # rotary positions turn the numbers of a head in pairs
            raise UsageError(f"model.width is {self.width}: give an even multiple of model.heads, {self.heads}")
        if self.lora_rank < 0:
            raise UsageError(f"model.lora_rank is {self.lora_rank}: set it to 0 (train all weights) or more")

    def check_trainable(self) -> None:
        """Refuse settings of a model that can be played with only.

        Raises:
            UsageError: Weights of 8 or 16 bits cannot take the small steps of training: only what stands beside can.
        """
        for wanted, value in (
            ('precision = "bf16"', self.precision == "bf16"),
            ("eight_bit = true", self.eight_bit),
        ):
            if value and not self.lora_rank:
                raise UsageError(f"model.{wanted} needs adapters to train: set model.lora_rank, for example to 16")


@dataclass(frozen=True)
class WarmupConfig:
    """Teaches an untrained tiny model to repeat, to read labels and to tell directions; not for pretrained models.

    Attributes:
        copy_steps: Steps on writing the command that a reflection names; none for Taxi, whose commands are few.
        steps: The most steps on labels.
        levels: Levels of difficulty after which labels are read well enough.
        batch: Prompts a step.
        learning_rate: Of AdamW.
        lookup_steps: Steps on looking things up: in Taxi walls between columns, labels beside them (0 where its teacher
            names none), in ALFWorld what a place holds.
        direction_steps: Steps on telling directions from coordinates, labels beside them.
        seed: Its own seed: runs of all seeds start from the same model, as they would from a pretrained one.
    """

    copy_steps: int = 300
    steps: int = 1500
    levels: int = 8
    lookup_steps: int = 0
    direction_steps: int = 300
    seed: int = 1
    batch: int = 64
    learning_rate: float = 1e-3

    def __post_init__(self) -> None:
        """Check what types cannot say."""
        at_least("warmup.", self, batch=1)
        positive("warmup.", self, "learning_rate")


@dataclass(frozen=True)
class CollectConfig:
    """Algorithm 1, lines 2 to 20.

    Attributes:
        env: Where the teacher plays; empty for the first stage of the curriculum.
        trajectories: The teacher's trajectories, N.
        policy_trajectories: So many of them, the first, warm-start the policy.
        negatives: Wrong actions tried at each step; the paper tries 1, and 0 collects no negative examples.
        restarts: Whether the reflector also learns each of these states as the first of a game, without its path.
        regret: Where Taxi's oracle teacher puts the sentence on a mistake: `"first"`, before the command, or `"last"`.
            A student that regrets a right step before it chooses goes back; after the command it is too late for that.
        walls: Whether Taxi's oracle teacher says what walls it sees on the next border between columns, and drives by
            that alone. Else it follows the shortest plan, whose reasons may lie anywhere on the map.
        aloud: Whether ALFWorld's oracle teacher thinks aloud: it says where it is, asks and answers whether this place
            holds what it needs, and says which place the next one follows in the room's list or, where none of its type
            does, goes through the types of places from the likeliest on.
        detours: The chance that a step of a trajectory is a random legal one, after which the teacher goes on: a
            student leaves the teacher's paths, and later states have that behind them. None that brings the goal nearer
            is taken, nor one that ends the game; the example after one that takes it further away is negative.
        wordings: How often the teacher is asked for its reflection on a state, each time in other words.
        policy_negatives: Whether the policy learns from the negative examples of its trajectories too.
        failures: Whether trajectories that do not reach their goal are kept; else further tasks are played for them.
        teacher: `"oracle"`, the environment's own, or `"openai"`, a chat model behind an OpenAI-compatible endpoint.
        model: The chat model's name; on Azure, the deployment's.
        hint: Whether the chat model is told the oracle's next action, in families whose prompts have a place for it.
        workers: Trajectories that are played with the chat model at a time.
        attempts: Requests that are made for one answer.
        timeout: The most seconds that one request may take.
        price_read: What a million tokens that the chat model reads cost, in any currency.
        price_written: What a million tokens that it writes cost.
    """

    env: str = ""
    trajectories: int = 25
    policy_trajectories: int = 20
    negatives: int = 1
    restarts: bool = False
    regret: str = "first"
    walls: bool = False
    aloud: bool = False
    detours: float = 0.0
    wordings: int = 4
    policy_negatives: bool = False
    failures: bool = False
    teacher: str = "oracle"
    model: str = ""
    hint: bool = True
    workers: int = 4
    attempts: int = 3
    timeout: float = 120.0
    price_read: float = 0.0
    price_written: float = 0.0

    def __post_init__(self) -> None:
        """Check what types cannot say."""
        one_of("collect.teacher", self.teacher, ("oracle", "openai"))
        one_of("collect.regret", self.regret, ("first", "last"))
        if self.teacher == "openai" and not self.model.strip():
            raise UsageError("collect.teacher 'openai' needs the name of a chat model: set collect.model")
        shares("collect.", self, "detours")
        at_least("collect.", self, trajectories=1, wordings=1, workers=1, attempts=1)
        at_least("collect.", self, negatives=0, policy_trajectories=0)
        if self.policy_trajectories > self.trajectories:
            raise UsageError("collect.policy_trajectories is larger than collect.trajectories: lower it")


@dataclass(frozen=True)
class SFTConfig:
    """Supervised fine-tuning of one player (lines 21 and 22).

    Attributes:
        steps: Updates.
        batch: Examples an update.
        learning_rate: Of AdamW, falling to a twentieth.
        weight_decay: Of AdamW.
        clip: Largest norm of the gradient.
        microbatch: Examples in memory at once, of like length; their gradients are added up. 0 takes the whole batch.
        smoothing: Of the policy's targets. A policy that is certain after its warm start never tries anything else,
            and REINFORCE has nothing to learn from.
        doubt: Share of the policy's examples in which the reflection names a random command in place of the teacher's.
            A policy that has met right reflections only does as it is told, and REINFORCE does not unlearn it.
    """

    steps: int = 400
    batch: int = 32
    learning_rate: float = 1e-3
    weight_decay: float = 1e-3
    clip: float = 1.0
    microbatch: int = 0
    smoothing: float = 0.0
    doubt: float = 0.0

    def check(self, player: str) -> None:
        """Check what types cannot say; `player` is the table's name, as there are two of them."""
        at_least(player, self, batch=1, microbatch=0)
        positive(player, self, "learning_rate")
        shares(player, self, "smoothing", "doubt")


@dataclass(frozen=True)
class StageConfig:
    """One stage of the curriculum: an environment, and how long to train in it.

    Attributes:
        env: The environment's id.
        iterations: The most iterations.
        advance_at: The stage ends early when the mean success of the last batches reaches it, 0 to 1; 0 for never.
        advance_after: Of how many batches.
        env_kwargs: Further arguments of this stage's environment, such as ALFWorld's `{"task_types": [...]}`.
        longest_plan: Only tasks whose reference plan has at most so many steps are drawn; 0 for all.
    """

    env: str = "NatLang/DangerousTaxi-Pickup-v0"
    iterations: int = 150
    advance_at: float = 0.0
    advance_after: int = 5
    env_kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    longest_plan: int = 0

    def __post_init__(self) -> None:
        """Check what types cannot say."""
        if self.advance_after < 1:
            raise UsageError(f"curriculum.advance_after is {self.advance_after}: give 1 or more")


@dataclass(frozen=True)
class RLConfig:
    """RL fine-tuning (lines 23 to 35).

    Attributes:
        algorithm: Of line 34: `"reinforce"` (the paper's), `"rloo"`, `"ppo"` or `"gigpo"`; each is a file.
        batch: Episodes in step, B of Algorithm 1.
        minibatch: Decisions an update; the steps of an iteration are taken last to first (section 4.1.2). Several
            updates an iteration, each on decisions of a policy that is gone, lost what the warm start had learned.
        microbatch: Different prompts in memory at once in an update, whose gradients are added up; 0 takes all.
        epochs: PPO's passes over the decisions of an iteration, each in shuffled minibatches.
        ratio: PPO's clipping range: how far the probability of a choice may move from the sampled one, as a share.
        target_kl: PPO ends an iteration's updates when KL(sampled || now) passes it, nats; 0 for never.
        skip: PPO leaves decisions out of the forward pass that were drawn with at least this probability: their
            gradient is next to nothing. They count in the mean. 1 leaves out none.
        critic: Whether PPO has a value head, whose advantages take the place of `baseline`.
        value_weight: Weight of the critic's squared error.
        gae: The critic's λ: 1 trusts the rewards alone, 0 the critic after one step.
        step_weight: GiGPO's weight of the credit among repeated states.
        replay: Earlier successes that are imitated after each update; 0 for none.
        replay_size: How many are kept.
        explore: In rollouts, a choice is drawn evenly with this probability. Algorithms improve the policy mixed so.
        dropout: Where the model's dropout is on: `"off"`, in `"updates"`, or `"always"`, as in the authors' rollouts.
        dropout_rate: Attention's dropout in RL, for a model whose own is 0 as the tiny one's; 0 leaves the model's own.
        learning_rate: Of AdamW, falling linearly to a tenth over a stage.
        weight_decay: Of AdamW.
        clip: Largest norm of the gradient.
        entropy: Weight of the entropy bonus.
        reward_scale: Rewards are divided by it.
        group: Episodes of each task in a batch.
        baseline: What is taken off the reward-to-go: `"none"`, `"step"` (the batch's mean at the same step) or
            `"state"` (its mean in the same p(s), and where that is met once only, at the same step).
        checkpoint_every: Iterations between checkpoints.
    """

    algorithm: str = "reinforce"
    batch: int = 96
    minibatch: int = 2048
    microbatch: int = 32
    epochs: int = 4
    ratio: float = 0.2
    target_kl: float = 0.03
    skip: float = 1.0
    critic: bool = False
    value_weight: float = 0.5
    gae: float = 0.95
    step_weight: float = 1.0
    replay: int = 0
    replay_size: int = 256
    explore: float = 0.0
    dropout: str = "off"
    dropout_rate: float = 0.0
    learning_rate: float = 4e-4
    weight_decay: float = 1e-3
    clip: float = 1.0
    entropy: float = 0.15
    reward_scale: float = 20.0
    group: int = 1
    baseline: str = "step"
    checkpoint_every: int = 20

    def __post_init__(self) -> None:
        """Check what types cannot say."""
        one_of("rl.algorithm", self.algorithm, ("reinforce", "rloo", "ppo", "gigpo"))
        one_of("rl.dropout", self.dropout, ("off", "updates", "always"))
        one_of("rl.baseline", self.baseline, ("none", "step", "state"))
        if self.group < 1 or self.batch % self.group:
            raise UsageError(f"rl.group {self.group} does not divide rl.batch {self.batch}: change one of them")
        if self.algorithm in ("rloo", "gigpo") and self.group < 2:
            raise UsageError(f"rl.algorithm {self.algorithm!r} compares episodes of a task: set rl.group to 2 or more")
        if self.critic and self.algorithm != "ppo":
            raise UsageError(f"rl.critic is PPO's, not {self.algorithm!r}'s: set rl.algorithm to 'ppo'")
        for name, value in (("rl.explore", self.explore), ("rl.gae", self.gae), ("rl.dropout_rate", self.dropout_rate)):
            if not 0 <= value <= 1:
                raise UsageError(f"{name} is {value}: give a number from 0 to 1")
        at_least("rl.", self, batch=1, minibatch=1, microbatch=0, epochs=1, replay=0, replay_size=1, checkpoint_every=1)
        positive("rl.", self, "learning_rate", "reward_scale")
        if not self.skip > 0:
            raise UsageError(f"rl.skip is {self.skip}: give a probability above 0, or 1 to leave out nothing")


@dataclass(frozen=True)
class Config:
    """A whole training run.

    Attributes:
        seed: Everything that is drawn depends on it.
        split: Where training tasks come from.
        env_kwargs: Further arguments of the environments, such as `{"map": "generated"}`.
        history: How many steps of the path p(s) shows.
        reflect: Whether there is a reflector at all.
        players: `"two"` models; `"adapters"`: two adapters on one base in memory; or one model that is fine-tuned on
            both jobs: with `"one"` it plays both for good, so that RL moves its reflections too (appendix E.2), with
            `"one-frozen"` the reflector stays what it was before RL.
        reflection_tokens: The longest reflection.
        head: How the policy chooses: `"labels"` (all actions in one prompt, a label each) or `"saycan"` (saycan.py).
        normalisation: Of `"saycan"`: `"sum"` (none), `"token"`, `"word"`, or `"whole"` (none, the end counts).
        threads: Threads of torch; one is fastest on a busy machine, and the result depends on the number.
        curriculum: The stages, in order.
    """

    seed: int = 0
    split: str = "train"
    env_kwargs: dict[str, Any] = field(default_factory=dict[str, Any])
    history: int = 1
    reflect: bool = True
    players: str = "two"
    reflection_tokens: int = 48
    head: str = "labels"
    normalisation: str = "token"
    threads: int = 1
    model: ModelConfig = ModelConfig()
    warmup: WarmupConfig = WarmupConfig()
    collect: CollectConfig = CollectConfig()
    sft_reflector: SFTConfig = SFTConfig()
    sft_policy: SFTConfig = SFTConfig(steps=400, smoothing=0.05, doubt=0.35)
    rl: RLConfig = RLConfig()
    curriculum: tuple[StageConfig, ...] = (StageConfig(),)

    def __post_init__(self) -> None:
        """Check what types cannot say."""
        one_of("head", self.head, ("labels", "saycan"))
        one_of("normalisation", self.normalisation, ("sum", "token", "word", "whole"))
        one_of("players", self.players, ("two", "adapters", "one", "one-frozen"))
        at_least("", self, history=0, threads=1)
        self.sft_reflector.check("sft_reflector.")
        self.sft_policy.check("sft_policy.")
        if self.players == "adapters" and not self.model.lora_rank:
            raise UsageError("players 'adapters' needs adapters to train: set model.lora_rank, for example to 16")
        if self.one_model and not self.reflect:
            raise UsageError(f"players {self.players!r} needs a reflector: set reflect = true, or players = 'two'")
        if self.one_model and self.head != "labels":
            raise UsageError(f"players {self.players!r} choose by labels: set head = 'labels', or players = 'two'")
        for stage in self.curriculum:
            both = sorted(stage.env_kwargs.keys() & self.env_kwargs.keys())
            if both:
                raise UsageError(f"{both[0]!r} is in env_kwargs and in a stage's: keep it in one of them")
        if not self.curriculum:
            raise UsageError("curriculum has no stage: give at least one [[curriculum]] with an env")

    @property
    def one_model(self) -> bool:
        """Whether one model is fine-tuned on both jobs."""
        return self.players in ("one", "one-frozen")

    @property
    def demonstrations(self) -> tuple[str, dict[str, Any]]:
        """The id and the further arguments of the environment where the teacher plays."""
        stage = self.curriculum[0]
        if self.collect.env:
            return self.collect.env, self.env_kwargs
        return stage.env, self.env_kwargs | stage.env_kwargs

    def arguments(self, stage: StageConfig) -> dict[str, Any]:
        """Return what a stage's environment is made with, beside its id."""
        return {"split": self.split, **self.env_kwargs, **stage.env_kwargs}
