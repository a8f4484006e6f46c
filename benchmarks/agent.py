"""Speed of the reference agent: its rollout beside a plain loop, and choices by label beside SayCan-style scores.

`python benchmarks/agent.py --model smollm2` prints a table and writes benchmarks/results/agent_speed.md. `--model tiny`
makes a small untrained model, for a look in seconds: speed does not depend on the weights. The exit code is 1 if an aim
does not hold.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import gymnasium
import numpy as np
import torch
from harness import HEADINGS, RESULTS, Measure, floors, publish, spread_of

from natlang_envs.env import unwrap
from natlang_envs.prompt import PathStep, reflection_prompt, state_prompt
from reference_agent.curriculum import Stage
from reference_agent.models.language_model import LanguageModel
from reference_agent.models.named import model_source
from reference_agent.models.saycan import SayCanPolicy
from reference_agent.players import Reflector
from reference_agent.rollout import Episode, make_envs, sample_episodes
from reference_agent.run.config import Config, ModelConfig, RLConfig

ALFWORLD, PICKUP = "NatLang/ALFWorld-v0", "NatLang/DangerousTaxi-Pickup-v0"
PACKAGES = ("torch", "transformers")
ACTIONS = 20
AIM = 10.0
CLOCK = time.process_time  # the processor's seconds, all threads: what else runs on the machine disturbs them less


def timed(work: Callable[[], Any]) -> tuple[float, Any]:
    begun = CLOCK()
    result = work()
    return CLOCK() - begun, result


def start_states(count: int, seed: int) -> list[tuple[str, tuple[str, ...]]]:
    """Return p(s) and A(s) at the start of different games with at least so many actions as are to be scored."""
    env = unwrap(gymnasium.make(ALFWORLD, split="train"))
    rng = np.random.default_rng([seed, 1])
    states: dict[str, tuple[str, ...]] = {}
    while len(states) < count:
        observation, info = env.reset(options={"task_id": env.tasks.draw(rng.random)})
        if len(info["admissible_commands"]) >= ACTIONS:
            states[state_prompt(info["task"], (), observation)] = info["admissible_commands"]
    return list(states.items())


def load(name: str, precision: str, seed: int) -> LanguageModel:
    if name == "tiny":
        texts = [f"{state}\n" + "\n".join(commands) for state, commands in start_states(20, seed)]
        sizes = unwrap(gymnasium.make(ALFWORLD)).max_commands
        model = LanguageModel.tiny(ModelConfig(positions=8192), texts, ["go", "open", "take"], seed, sizes)
    else:
        model = LanguageModel.load(model_source(name))
    model.model.eval().to({"bf16": torch.bfloat16, "fp32": torch.float32}[precision])
    return model


# Rollout and choice.

LIMITS = (
    "The rollout's ratio is for groups of 8 episodes of a task that have just begun, as GiGPO and RLOO sample them: "
    "they meet many states together. Groups of one, or whole games of 50 steps, share fewer. Labels and SayCan-style "
    "scores cost the same where the prompt is computed once, because either way each action is read once."
)


@torch.no_grad()
def plain_choice(policy: LanguageModel, prompt: str, labels: Sequence[str]) -> list[float]:
    """Return the labels' logits from one whole forward pass: the full vocabulary at every position."""
    logits = policy.model(torch.tensor([policy.encode(prompt)])).logits[0, -1]
    return [float(logits[policy.encode(f"\n{label}")[-1]]) for label in labels]


def play_plainly(
    policy: LanguageModel, reflector: LanguageModel, task_id: str, episode: Episode, config: Config
) -> int:
    """Play an episode again, action for action; return in how many steps the reflection came out the same."""
    stage = config.stages[0]
    env = stage.make()
    observation, info = env.reset(options={"task_id": task_id})
    path: list[PathStep] = []
    agreed = 0
    for decision in episode.decisions:
        state = state_prompt(info["task"], path, observation, history=config.history)
        assert state == decision.state, "the environment went another way"
        (said,) = reflector.write([reflection_prompt(state)], config.reflection_tokens)
        agreed += said == decision.reflection
        plain_choice(policy, decision.prompt, decision.labels)
        action = info["admissible_commands"][decision.chosen]
        observation, _, _, _, info = env.step(action)
        path.append(PathStep(action, info["feedback"]))
    return agreed


def rollout(
    policy: LanguageModel, reflector: LanguageModel, config: Config, plain_episodes: int
) -> tuple[Measure, str]:
    envs: Any = make_envs(config.stages[0], config.rl.batch)
    rng = np.random.default_rng(config.seed)
    drawn = [envs.unwrapped.tasks.draw(rng.random) for _ in range(config.rl.batch // config.rl.group)]
    task_ids = [task_id for task_id in drawn for _ in range(config.rl.group)]
    asked = Reflector(reflector, config.reflection_tokens)
    begun = time.perf_counter()
    seconds, episodes = timed(lambda: sample_episodes(envs, task_ids, policy, asked, config.history, rng))
    wall = time.perf_counter() - begun
    steps = sum(len(each.rewards) for each in episodes)
    ours = steps / seconds
    rates: list[float] = []
    agreed = played = 0
    for index in np.linspace(0, len(episodes) - 1, plain_episodes).astype(int).tolist():
        episode, task_id = episodes[index], task_ids[index]
        took, same = timed(lambda e=episode, t=task_id: play_plainly(policy, reflector, t, e, config))
        rates.append(len(episode.rewards) / took)
        agreed, played = agreed + same, played + len(episode.rewards)
    theirs = median(rates)
    lengths = [policy.count(each.prompt) for episode in episodes for each in episode.decisions]
    remark = (
        f"Rollout: {len(episodes)} episodes ({len(drawn)} games, {config.rl.group} of each), {steps} steps in "
        f"{seconds:.0f} s of the processor ({wall:.0f} s on the wall); {len(asked.cache)} reflections of at most "
        f"{config.reflection_tokens} tokens were written, {steps - len(asked.cache)} came from the cache; the policy's "
        f"prompts have {min(lengths)} to {max(lengths)} tokens. Played plainly: {plain_episodes} of these episodes, "
        f"{played} steps, in {agreed} of them with the same reflection to the letter. Ours over theirs takes the "
        "median of the plain episodes."
    )
    what = "rollout, steps a second of the processor; theirs: done plainly"
    return against(what, [(ours, rate) for rate in rates], ours / theirs), remark


def against(what: str, pairs: Sequence[tuple[float, float]], ratio: float) -> Measure:
    """Return a line for pairs of our figure and theirs."""
    ours, theirs = (median(side) for side in zip(*pairs, strict=True))
    ratios = [max(pair) / min(pair) for pair in pairs]
    shown = (f"{ours:.3f}", f"{theirs:.3f}", f"{ratio:.1f} x", spread_of(ratios, 1), f">= {AIM:g} x")
    return Measure(what, *shown, ratio >= AIM)


@torch.no_grad()
def score_plainly(policy: LanguageModel, prompt: str, actions: Sequence[str]) -> torch.Tensor:
    """Return the log-probability of each action and its end, each in a whole prompt of its own, one padded batch."""
    start = policy.encode(prompt)
    endings = [(*policy.encode(action), policy.end) for action in actions]
    width = len(start) + max(map(len, endings))
    ids = torch.full((len(actions), width), policy.end)
    for row, ending in enumerate(endings):
        ids[row, : len(start) + len(ending)] = torch.tensor([*start, *ending])
    states = policy.model.base_model(ids).last_hidden_state[:, len(start) - 1 : -1]
    told = torch.log_softmax(policy.model.get_output_embeddings()(states).float(), dim=2)
    return torch.stack([told[row, range(len(each)), each].sum() for row, each in enumerate(endings)])


@torch.no_grad()
def choice(policy: LanguageModel, count: int, seed: int) -> tuple[list[Measure], str]:
    scorer = SayCanPolicy(policy)
    times: list[tuple[float, float, float]] = []
    apart = 0.0

    def one(state: str, listed: Sequence[str]) -> None:
        """Time the three forms of a choice."""
        nonlocal apart
        choices = policy.list_actions(listed, None)
        labels = [each.label for each in choices]
        prompt = scorer.ask(state, None, ())
        ours, _ = timed(lambda: policy.choice_logits([policy.ask(state, None, choices)], [labels]))
        fair, shared = timed(lambda: scorer.choice_logits([prompt], [listed]))
        plain, own = timed(lambda: score_plainly(policy, prompt, listed))
        times.append((ours, fair, plain))
        apart = max(apart, float((shared[0] - own).abs().max()))

    for state, commands in start_states(count + 1, seed):
        one(state, commands[:ACTIONS])
    del times[0]  # the first was for warming up
    rows: list[Measure] = []
    names = ("SayCan-style, the prompt computed once for all", "SayCan-style, a whole prompt for each")
    for name, column in zip(names, (1, 2), strict=True):
        ratio = median(each[column] / each[0] for each in times)
        what = f"labels for a choice of {ACTIONS}, s of the processor; theirs: {name}"
        rows.append(against(what, [(each[0], each[column]) for each in times], ratio))
    return rows, (
        f"Choice: at the start of {count} games, one decision at a time, without a reflection. The two SayCan-style "
        f"forms' scores differ by at most {apart:.1e}."
    )


def speed(asked: argparse.Namespace) -> None:
    policy, reflector = (load(asked.model, asked.precision, asked.seed) for _ in range(2))
    config = Config(
        seed=asked.seed,
        env_kwargs={"horizon": asked.horizon},
        reflection_tokens=asked.reflection_tokens,
        rl=RLConfig("gigpo", {"group": asked.group}, batch=asked.episodes),
        curriculum=(Stage(env=ALFWORLD),),
    )
    (once, whole), on_choice = choice(policy, asked.choices, asked.seed)
    played, on_rollout = rollout(policy, reflector, config, asked.plain_episodes)
    rows = [played, once, whole]
    publish(
        asked.out or RESULTS / "agent_speed.md",
        "The agent's speed on ALFWorld",
        f"**Rollouts are {played.factor} times as fast as a plain loop.** Choosing by label is {whole.factor} times "
        f"as fast as scoring commands SayCan-style with a whole prompt for each, and {once.factor} times as fast where "
        f"the prompt is computed once for all. {floors(rows)}",
        HEADINGS,
        [row.cells() for row in rows],
        PACKAGES,
        [on_rollout, on_choice, LIMITS],
        made_with(policy, asked),
    )
    sys.exit(any(row.holds is False for row in rows))


def made_with(model: LanguageModel, asked: argparse.Namespace) -> str:
    parameters = sum(weight.numel() for weight in model.model.parameters()) / 1e6
    return f"One thread; model {Path(asked.model).name} ({parameters:.1f}M parameters, {asked.precision})."


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="tiny", help="'tiny', 'smollm2', a folder or a hub id")
    parser.add_argument("--precision", default="fp32", choices=("bf16", "fp32"))
    parser.add_argument("--episodes", type=int, default=Config().rl.batch)
    parser.add_argument("--group", type=int, default=8, help="episodes of each game")
    parser.add_argument("--horizon", type=int, default=5)
    parser.add_argument("--plain-episodes", type=int, default=2)
    parser.add_argument("--choices", type=int, default=5)
    parser.add_argument("--reflection-tokens", type=int, default=Config().reflection_tokens)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    torch.set_num_threads(1)
    speed(asked)


if __name__ == "__main__":
    main()
