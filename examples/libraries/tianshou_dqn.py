"""Tianshou's DQN on the pickup, commands as numbers: python examples/libraries/tianshou_dqn.py"""

from __future__ import annotations

import gymnasium
from tianshou.algorithm.modelfree.dqn import DQN, DiscreteQLearningPolicy
from tianshou.algorithm.optim import AdamOptimizerFactory
from tianshou.data import Collector, VectorReplayBuffer
from tianshou.env import DummyVectorEnv
from tianshou.trainer import OffPolicyTrainerParams
from tianshou.utils.net.common import Net

import natlang_envs  # noqa: F401 - registers the environments
from natlang_envs.learners.encoders import EncodedObservations
from natlang_envs.learners.tested_versions import warn_if_untested
from natlang_envs.learners.wrappers import ChoiceIndexActions, ScaleReward

warn_if_untested("tianshou")

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"


def make(split: str = "train") -> gymnasium.Env:
    return EncodedObservations(ChoiceIndexActions(ScaleReward(gymnasium.make(PICKUP, split=split))), 1024)


def main(epochs: int = 10) -> float:
    """Return the best epoch's mean reward, of at most 1, on the validation split, by which it is chosen."""
    env, train = make(), DummyVectorEnv([make] * 16)
    held_out = DummyVectorEnv([lambda: make("validation")] * 16)
    net = Net(state_shape=(1024,), action_shape=6, hidden_sizes=[128])
    policy = DiscreteQLearningPolicy(
        model=net, action_space=env.action_space, observation_space=env.observation_space, eps_training=0.2
    )
    learner = DQN(policy=policy, optim=AdamOptimizerFactory(lr=1e-3), gamma=0.95, target_update_freq=300)
    settings = OffPolicyTrainerParams(
        training_collector=Collector(learner, train, VectorReplayBuffer(50_000, 16)),
        test_collector=Collector(learner, held_out), max_epochs=epochs, epoch_num_steps=5_000,
        collection_step_num_env_steps=160, test_step_num_episodes=200, batch_size=128,
        update_step_num_gradient_steps_per_sample=0.4,
    )  # fmt: skip
    return float(learner.run_training(settings).best_reward)


if __name__ == "__main__":
    print(f"mean reward on validation: {main():.2f}")
