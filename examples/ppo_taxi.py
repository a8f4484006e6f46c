"""PPO in one file, without a language model, learns to pick the passenger up: python examples/ppo_taxi.py

What is particular to natlang_envs is `make`: texts as vectors, commands as numbers, rewards of about 1. The rest is PPO
as CleanRL writes it.
"""

from __future__ import annotations

import sys

import gymnasium
import numpy as np
import torch
from torch import nn

import natlang_envs  # noqa: F401 - registers the environments
from natlang_envs.learners.vector_wrappers import ChoiceIndexActions, EncodedObservations, ScaleReward

SIZE, COMMANDS = 1024, 6
ENVS, STEPS, EPOCHS, BATCHES = 32, 32, 4, 4
DISCOUNT, SMOOTHING, CLIP, ENTROPY = 0.99, 0.95, 0.2, 0.01


def make(num_envs: int) -> gymnasium.vector.VectorEnv:
    envs = gymnasium.make_vec("NatLang/DangerousTaxi-Pickup-v0", num_envs, split="train", autoreset_mode="SameStep")
    return EncodedObservations(ChoiceIndexActions(ScaleReward(envs)), SIZE)


def main(updates: int = 150, seed: int = 0) -> float:
    """Return the success rate of the last twenty updates' episodes, which are of the train split."""
    torch.manual_seed(seed)
    envs = make(ENVS)
    body = nn.Sequential(nn.Linear(SIZE, 128), nn.Tanh())
    actor, critic = nn.Linear(128, COMMANDS), nn.Linear(128, 1)
    weights = [*body.parameters(), *actor.parameters(), *critic.parameters()]
    optimizer = torch.optim.Adam(weights, lr=3e-3, eps=1e-5)
    observation = torch.as_tensor(envs.reset(seed=seed)[0])
    won: list[float] = []
    for update in range(updates):
        seen = torch.zeros(STEPS, ENVS, SIZE)
        actions = torch.zeros(STEPS, ENVS, dtype=torch.long)
        logs, values, rewards, ends = (torch.zeros(STEPS, ENVS) for _ in range(4))
        finished: list[bool] = []
        for step in range(STEPS):
            with torch.no_grad():
                hidden = body(observation)
                chosen = torch.distributions.Categorical(logits=actor(hidden))
                values[step] = critic(hidden)[:, 0]
            seen[step], actions[step] = observation, chosen.sample()
            logs[step] = chosen.log_prob(actions[step])
            following, reward, terminated, truncated, infos = envs.step(actions[step].numpy())
            rewards[step], ends[step] = torch.as_tensor(reward), torch.as_tensor(terminated | truncated).float()
            observation = torch.as_tensor(following)
            if "final_info" in infos:
                finished += infos["final_info"]["success"][infos["_final_info"]].tolist()
        won.append(float(np.mean(finished)) if finished else 0.0)
        advantages = torch.zeros(STEPS, ENVS)
        with torch.no_grad():
            after, carried = critic(body(observation))[:, 0], torch.zeros(ENVS)
        for step in reversed(range(STEPS)):
            goes_on = 1 - ends[step]
            carried = (
                rewards[step] + DISCOUNT * after * goes_on - values[step] + DISCOUNT * SMOOTHING * goes_on * carried
            )
            advantages[step], after = carried, values[step]
        returns = (advantages + values).flatten()
        for _ in range(EPOCHS):
            for part in torch.randperm(STEPS * ENVS).chunk(BATCHES):
                hidden = body(seen.flatten(0, 1)[part])
                policy = torch.distributions.Categorical(logits=actor(hidden))
                ratio = (policy.log_prob(actions.flatten()[part]) - logs.flatten()[part]).exp()
                worth = advantages.flatten()[part]
                worth = (worth - worth.mean()) / (worth.std() + 1e-8)
                gain = torch.min(ratio * worth, ratio.clamp(1 - CLIP, 1 + CLIP) * worth).mean()
                error = (critic(hidden)[:, 0] - returns[part]).square().mean()
                loss = 0.5 * error - gain - ENTROPY * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(weights, 0.5)
                optimizer.step()
        if update % 10 == 9:
            print(f"update {update + 1} of {updates}: {np.mean(won[-10:]):.0%} of the episodes won", flush=True)
    envs.close()
    return float(np.mean(won[-20:]))


if __name__ == "__main__":
    print(f"training tasks won at the end: {main(*map(int, sys.argv[1:])):.0%}")
