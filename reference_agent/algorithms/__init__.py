"""Policy-gradient algorithms for line 34 of Algorithm 1.

reinforce        REINFORCE on the reward-to-go, the paper's
rloo             leave-one-out baseline among the episodes of a task
gigpo            episode-level and state-level advantages, PPO's updates
ppo              clipped ratio, with or without a critic
policy_gradient  shared: advantages, log-probabilities, one optimizer step

An algorithm is a function `update(learner, episodes) -> Update`. Another package registers its own in the entry-point
group `natlang_envs.algorithms`; `rl.algorithm` then names it.
"""
