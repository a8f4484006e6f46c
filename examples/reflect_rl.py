"""Reflect-RL in one file: Algorithm 1 of arXiv 2402.12621 with plain transformers.

python examples/reflect_rl.py                                        the tiny model, DangerousTaxi's pickup
python examples/reflect_rl.py --model FOLDER_OR_HUB_ID --lora 16 --sft_rate 1e-3 --rl_rate 1e-4

A teacher plays and says why. The reflector learns to say it, the policy learns to choose after reading it; then the
reflector is frozen and the policy learns by reinforcement. `reference_agent` is the same with checkpoints, other
environments, heads and algorithms; a test holds the first iteration of reinforcement here equal to its own.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, NamedTuple

import gymnasium
import numpy as np
import torch
from peft import LoraConfig, get_peft_model
from torch import Tensor
from torch.nn.functional import cross_entropy
from torch.nn.utils.rnn import pad_sequence
from transformers import AutoModelForCausalLM, AutoTokenizer

import natlang_envs  # noqa: F401 (registers the environments)
from natlang_envs.env import NatLangEnv
from natlang_envs.prompt import Choice, PathStep, enumerate_actions, policy_prompt, reflection_prompt, state_prompt

TINY = next((Path(__file__).parents[1] / "reference_agent" / "data" / "models").glob("tiny-*"))
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"  # labels of the commands; single tokens in most vocabularies


@dataclass(frozen=True)
class Settings:
    """What is trained, and how; each is an option of the command."""

    env: str = "NatLang/DangerousTaxi-Pickup-v0"
    model: str = str(TINY)  # a causal language model: a folder, or an id of the hub
    lora: int = 0  # rank of the adapters that learn in place of all weights; 0 for none
    seed: int = 0
    trajectories: int = 60  # of the teacher, N in Algorithm 1
    reflector_steps: int = 250
    policy_steps: int = 120
    doubt: float = 0.35  # of the policy's reflections, those that name a command drawn at random
    smoothing: float = 0.05  # of the policy's targets; both keep it unsure, so that reinforcement has something to try
    sft_batch: int = 16
    sft_rate: float = 1e-3  # AdamW's learning rate of a small model or of adapters; all weights of a large one: 1e-5
    iterations: int = 30  # of reinforcement
    batch: int = 64  # episodes an iteration, B
    microbatch: int = 32  # prompts in memory at once
    rl_rate: float = 4e-4
    reward_scale: float = 20.0
    entropy: float = 0.15  # weight of the bonus
    words: int = 64  # the most tokens of a reflection
    games: int = 100  # of the split validation, to see what was learned


# The data set D, lines 2 to 20.


class Example(NamedTuple):
    """What the teacher says and does in a state."""

    state: str  # p(s)
    commands: tuple[str, ...]  # A(s)
    reflection: str
    action: str
    negative: bool  # whether a mistake led there


def teach(env: NatLangEnv, seen: str, wrong: str | None) -> tuple[str, str]:
    """Return the teacher's reflection and action, the plan's. For another task, change this."""
    action = env.oracle()[0]
    row, column = map(int, re.findall(r"The taxi is at row (\d+), column (\d+)", seen)[0])
    to_row, to_column = map(int, re.findall(r"The passenger waits at \w+ \(row (\d+), column (\d+)\)", seen)[0])
    down = "level" if row == to_row else "south" if to_row > row else "north"
    right = "level" if column == to_column else "east" if to_column > column else "west"
    regret = f" To {wrong} was a mistake." if wrong else ""
    places = f"From row {row} to row {to_row} is {down}, from column {column} to column {to_column} is {right}."
    return f"{places}{regret} So I {action}.", action


def collect(settings: Settings) -> list[Example]:
    """Let the teacher play; beside each of its actions try a wrong one, and let it say how to go on from there."""
    env, rng = gymnasium.make(settings.env, split="train"), np.random.default_rng([settings.seed, 1])
    game: Any = env.unwrapped
    examples: list[Example] = []

    def lesson(path: Sequence[PathStep], seen: str, info: dict[str, Any], wrong: str | None = None) -> str:
        reflection, action = teach(game, seen, wrong)
        state = state_prompt(info["task"], path, seen, history=1)
        examples.append(Example(state, info["admissible_commands"], reflection, action, wrong is not None))
        return action

    for _ in range(settings.trajectories):
        seen, info = game.reset(options={"task_id": game.tasks.draw(rng.random)})  # line 4
        path: list[PathStep] = []
        ended = False
        while not ended:  # line 5
            action = lesson(path, seen, info)  # lines 6 to 9
            here, plan = game.snapshot(), len(game.oracle())
            wrong = str(rng.choice([each for each in info["admissible_commands"] if each != action]))  # line 10
            there, _, terminated, truncated, after = game.step(wrong)  # line 11
            if not (terminated or truncated) and len(game.oracle()) > plan:
                lesson([*path, PathStep(wrong, after["feedback"])], there, after, wrong)  # lines 14 to 17
            game.restore(here)
            seen, _, terminated, truncated, info = game.step(action)
            path.append(PathStep(action, info["feedback"]))
            ended = terminated or truncated
    return examples


# A player: a language model that writes a reflection, or chooses a label.


class Player:
    """A causal language model with its tokenizer."""

    def __init__(self, name: str, lora: int = 0) -> None:
        self.tokenizer: Any = AutoTokenizer.from_pretrained(name)
        self.model: Any = AutoModelForCausalLM.from_pretrained(name)
        if lora:
            self.model = get_peft_model(self.model, LoraConfig(r=lora, target_modules="all-linear"))
        # A pretrained model's words bring their space, so that none ends a prompt; the tiny model reads it there.
        self.space = "" if self.tokenizer.eos_token == "<|end|>" else " "
        newline = len(self.ids("\n"))
        tokens = {letter: self.ids(f"\n{letter}")[newline:] for letter in LETTERS}
        self.labels = {letter: ids[0] for letter, ids in tokens.items() if len(ids) == 1}

    def ids(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def asked(self, prompt: str) -> list[int]:
        """Return the tokens of a prompt, behind what the tokenizer puts before any text."""
        return self.tokenizer(prompt.removesuffix(self.space))["input_ids"]

    def optimizer(self, rate: float, decay: float) -> torch.optim.Optimizer:
        """Return AdamW on the weights that learn."""
        learns = [each for each in self.model.parameters() if each.requires_grad]
        return torch.optim.AdamW(learns, lr=rate, weight_decay=decay)

    def descend(self, optimizer: torch.optim.Optimizer) -> None:
        """Take a step along the gradients that were added up."""
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

    def list_actions(self, commands: Sequence[str], rng: np.random.Generator | None) -> list[Choice]:
        """Return each command with its label; drawn anew by `rng`, else in order."""
        return enumerate_actions(commands, [*self.labels][: len(commands)], rng)

    def logits(self, texts: Sequence[Sequence[int]], places: Tensor) -> Tensor:
        """Return the logits [B, P, vocabulary] at P places of texts, which are padded on the right."""
        ids = pad_sequence([torch.tensor(each) for each in texts], batch_first=True)
        held = pad_sequence([torch.ones(len(each)) for each in texts], batch_first=True)
        return self.model(input_ids=ids, attention_mask=held, logits_to_keep=places).logits

    def label_logits(self, prompts: Sequence[str], labels: Sequence[Sequence[str]]) -> Tensor:
        """Return the logits [B, K] of the labels that each prompt lists, one token each (section 4.3)."""
        texts = [self.asked(each) for each in prompts]
        places, last = torch.tensor([len(each) - 1 for each in texts]).unique(return_inverse=True)
        which = torch.tensor([[self.labels[label] for label in each] for each in labels])
        return self.logits(texts, places)[torch.arange(len(texts)), last].gather(1, which)

    def completion_loss(self, prompts: Sequence[str], answers: Sequence[str]) -> Tensor:
        """Return the mean loss on the answers' tokens and the end; the prompts carry none."""
        begun = [self.asked(each) for each in prompts]
        ends = [[*self.ids(self.space + each), self.tokenizer.eos_token_id] for each in answers]
        texts, first = [a + b for a, b in zip(begun, ends, strict=True)], min(map(len, begun)) - 1
        logits = self.logits(texts, torch.arange(first, max(map(len, texts))))
        starts = [len(each) - 1 - first for each in begun]
        told = [logits[at, start : start + len(end)] for at, (start, end) in enumerate(zip(starts, ends, strict=True))]
        return cross_entropy(torch.cat(told), torch.tensor([token for each in ends for token in each]))

    @torch.no_grad()
    def write(self, prompts: Sequence[str], most: int) -> list[str]:
        """Return the likeliest completions."""
        texts = [self.asked(each) for each in prompts]
        width, end = max(map(len, texts)), self.tokenizer.eos_token_id
        ids = torch.tensor([[end] * (width - len(each)) + each for each in texts])
        held = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in texts])
        told = self.model.generate(
            input_ids=ids, attention_mask=held, max_new_tokens=most, do_sample=False, eos_token_id=end, pad_token_id=end
        )
        return [each.strip() for each in self.tokenizer.batch_decode(told[:, width:], skip_special_tokens=True)]


# Supervised fine-tuning, lines 21 and 22.


def fine_tune(
    player: Player,
    examples: Sequence[Example],
    loss: Callable[[Sequence[Example]], Tensor],
    steps: int,
    settings: Settings,
) -> None:
    """Train a player on batches of examples, with a short warm-up and a linear decay."""
    rng, optimizer = np.random.default_rng([settings.seed, 2]), player.optimizer(settings.sft_rate, 0.01)
    player.model.train()
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = settings.sft_rate * min(1.0, (step + 1) / min(20, steps), 1.05 - step / steps)
        told = loss([examples[at] for at in rng.integers(len(examples), size=settings.sft_batch)])
        told.backward()
        player.descend(optimizer)
        if (step + 1) % 50 == 0:
            print(f"  step {step + 1}: loss {told.item():.3f}")
    player.model.eval()


def fine_tune_both(reflector: Player, policy: Player, examples: Sequence[Example], settings: Settings) -> None:
    """Teach the reflector R after p(s), and the policy the label of a after p(s), α(A(s)) and R."""
    rng = np.random.default_rng([settings.seed, 3])

    def reflect(batch: Sequence[Example]) -> Tensor:
        return reflector.completion_loss(
            [reflection_prompt(each.state) for each in batch], [e.reflection for e in batch]
        )

    def heard(each: Example) -> str:
        if rng.random() >= settings.doubt:
            return each.reflection
        return each.reflection.replace(each.action, each.commands[int(rng.integers(len(each.commands)))])

    def choose(batch: Sequence[Example]) -> Tensor:
        listed = [policy.list_actions(each.commands, rng) for each in batch]
        prompts = [policy_prompt(e.state, heard(e), choices) for e, choices in zip(batch, listed, strict=True)]
        logits = policy.label_logits(prompts, [[choice.label for choice in each] for each in listed])
        right = torch.tensor([each.commands.index(each.action) for each in batch])
        return cross_entropy(logits, right, label_smoothing=settings.smoothing)

    print("The reflector learns what the teacher says.")
    fine_tune(reflector, examples, reflect, settings.reflector_steps, settings)
    print("The policy learns what the teacher does; a mistake is no example of that.")
    fine_tune(policy, [each for each in examples if not each.negative], choose, settings.policy_steps, settings)


# Both players at play, lines 24 to 33.


class Decision(NamedTuple):
    """A choice of the policy: the prompt, the labels it lists, and which was chosen."""

    prompt: str
    labels: list[str]
    chosen: int


@dataclass
class Episode:
    """A game: its decisions, what each earned, and whether it was won."""

    decisions: list[Decision] = field(default_factory=list[Decision])
    rewards: list[float] = field(default_factory=list[float])
    success: bool = False


class Players:
    """The frozen reflector, which says the same of the same p(s), and the policy."""

    def __init__(self, reflector: Player, policy: Player, words: int) -> None:
        self.reflector, self.policy, self.words = reflector, policy, words
        self.said: dict[str, str] = {}

    @torch.no_grad()
    def decide(
        self,
        states: Sequence[str],
        commands: Sequence[tuple[str, ...]],
        rng: np.random.Generator | None,
        known: dict[tuple[str, str], tuple[Decision, Tensor]],
    ) -> list[Decision]:
        """Choose at temperature 1, or without `rng` the likeliest; `known` holds what was asked before."""
        new = [each for each in dict.fromkeys(states) if each not in self.said]  # line 28
        if new:
            written = self.reflector.write([reflection_prompt(each) for each in new], self.words)
            self.said.update(zip(new, written, strict=True))
        asked = [(state, self.said[state]) for state in states]
        of = dict(zip(asked, commands, strict=True))
        if unknown := [each for each in of if each not in known]:
            listed = [self.policy.list_actions(of[each], rng) for each in unknown]
            prompts = [policy_prompt(*each, choices) for each, choices in zip(unknown, listed, strict=True)]
            labels = [[choice.label for choice in each] for each in listed]
            logits = self.policy.label_logits(prompts, labels)
            for each, prompt, names, row in zip(unknown, prompts, labels, logits, strict=True):
                known[each] = (Decision(prompt, names, 0), row)
        logits = torch.stack([known[each][1] for each in asked])
        noise = torch.zeros(logits.shape) if rng is None else torch.from_numpy(rng.gumbel(size=tuple(logits.shape)))
        chosen = (logits + noise.float()).argmax(dim=1).tolist()  # line 29: the largest with noise is a draw
        return [known[each][0]._replace(chosen=choice) for each, choice in zip(asked, chosen, strict=True)]

    def play(self, games: Sequence[Any], tasks: Sequence[str], rng: np.random.Generator | None) -> list[Episode]:
        """Play an episode in each game."""
        now = [game.reset(options={"task_id": task}) for game, task in zip(games, tasks, strict=True)]
        episodes, paths = [Episode() for _ in games], [list[PathStep]() for _ in games]
        running, known = list(range(len(games))), dict[tuple[str, str], tuple[Decision, Tensor]]()
        while running:  # line 26
            states = [state_prompt(now[at][1]["task"], paths[at], now[at][0], history=1) for at in running]  # line 27
            listed = [now[at][1]["admissible_commands"] for at in running]
            decided, on = self.decide(states, listed, rng, known), list[int]()
            for at, decision, commands in zip(running, decided, listed, strict=True):
                action = commands[decision.chosen]
                seen, reward, terminated, truncated, info = games[at].step(action)  # line 30
                now[at] = (seen, info)
                paths[at].append(PathStep(action, info["feedback"]))
                episodes[at].decisions.append(decision)
                episodes[at].rewards.append(float(reward))
                episodes[at].success = info["success"]
                on += [] if terminated or truncated else [at]
            running = on
        return episodes


# Reinforcement, lines 23 to 35.


def update(policy: Player, optimizer: torch.optim.Optimizer, episodes: Sequence[Episode], settings: Settings) -> float:
    """Take a step of REINFORCE (line 34) and return the mean entropy.

    The baseline of a reward-to-go is the batch's mean at the same step; what is left is divided by its deviation.
    """
    togo = [np.cumsum(each.rewards[::-1])[::-1] / settings.reward_scale for each in episodes]
    mean = [np.mean([each[at] for each in togo if at < len(each)]) for at in range(max(map(len, togo)))]
    decisions = [decision for each in episodes for decision in each.decisions]
    better = np.array([gained - mean[at] for each in togo for at, gained in enumerate(each)])
    better = better / (better.std() + 1e-6) if better.std() > 1e-5 else better
    entropy = 0.0
    policy.model.train()
    labels = {each.prompt: each.labels for each in decisions}
    prompts = [*labels]  # equal questions are computed once
    for first in range(0, len(prompts), settings.microbatch):
        place = {prompt: at for at, prompt in enumerate(prompts[first : first + settings.microbatch])}
        part = [at for at, each in enumerate(decisions) if each.prompt in place]
        logits = policy.label_logits([*place], [labels[each] for each in place])
        said = torch.log_softmax(logits, dim=1)[[place[decisions[at].prompt] for at in part]]
        chosen = said.gather(1, torch.tensor([[decisions[at].chosen] for at in part]))[:, 0]
        doubt = -(said.exp() * said).sum()
        loss = -(torch.tensor(better[part]).float() * chosen).sum() - settings.entropy * doubt
        (loss / len(decisions)).backward()
        entropy += doubt.item() / len(decisions)
    policy.descend(optimizer)
    policy.model.eval()
    return entropy


def reinforce(players: Players, settings: Settings) -> None:
    """Let the policy learn from its own games; the reflector stays as it is."""
    rng, policy = np.random.default_rng([settings.seed, 4]), players.policy
    games: list[Any] = [gymnasium.make(settings.env, split="train").unwrapped for _ in range(settings.batch)]
    optimizer = policy.optimizer(settings.rl_rate, 1e-3)
    for iteration in range(settings.iterations):  # line 23
        for group in optimizer.param_groups:
            group["lr"] = settings.rl_rate * (1 - 0.9 * iteration / settings.iterations)
        tasks = [games[0].tasks.draw(rng.random) for _ in games]
        episodes = players.play(games, tasks, rng)
        entropy = update(policy, optimizer, episodes, settings)
        won = np.mean([each.success for each in episodes])
        print(f"  iteration {iteration + 1}: won {won:.0%}, entropy {entropy:.2f}")


def won(players: Players, settings: Settings) -> tuple[float, float]:
    """Return the shares of games of the split validation that are won greedily, and with drawn commands."""
    games: list[Any] = [gymnasium.make(settings.env, split="validation").unwrapped for _ in range(settings.games)]
    rng = np.random.default_rng([settings.seed, 5])
    tasks = [games[0].tasks.draw(rng.random) for _ in games]
    greedy, drawn = (np.mean([each.success for each in players.play(games, tasks, how)]) for how in (None, rng))
    print(f"On the split validation: won {greedy:.0%} greedily, {drawn:.0%} with drawn commands")
    return float(greedy), float(drawn)


def main(settings: Settings) -> tuple[tuple[float, float], tuple[float, float]]:
    """Train both players; return what `won` says before reinforcement and after it."""
    torch.manual_seed(settings.seed)
    examples = collect(settings)
    reflector, policy = (Player(settings.model, settings.lora) for _ in range(2))
    fine_tune_both(reflector, policy, examples, settings)
    reflector.model.requires_grad_(False)
    players = Players(reflector, policy, settings.words)
    before = won(players, settings)
    print("The policy learns from its own games.")
    reinforce(players, settings)
    return before, won(players, settings)


if __name__ == "__main__":
    torch.set_num_threads(1)  # the fastest for a small model
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for each in fields(Settings):
        asked.add_argument(f"--{each.name}", type=type(each.default), default=each.default)
    main(Settings(**vars(asked.parse_args())))
