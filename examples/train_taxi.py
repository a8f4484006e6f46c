"""Reflect-RL on DangerousTaxi with a Hugging Face model of your own: python examples/train_taxi.py [MODEL]"""

from __future__ import annotations

import sys

from transformers import AutoModelForCausalLM, AutoTokenizer

import reference_agent as rrl
from reference_agent.models.start import tiny_folder

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"


def main(name: str, steps: int = 150, iterations: int = 30) -> float:
    """Return the success rate after training."""
    base = rrl.LanguageModel.of(AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name))
    examples = rrl.collect(PICKUP, "oracle", rrl.CollectConfig(trajectories=25))
    reflector = rrl.fine_tune_reflector(base.copy(), examples, rrl.SFTConfig(steps=steps))
    policy = rrl.fine_tune_policy(base.copy(), examples, rrl.PolicySFTConfig(steps=steps))
    print(f"before RL: {rrl.success_rate(rrl.play(PICKUP, policy, reflector)):.0%}")
    settings = rrl.RLConfig(reward_scale=20.0)
    rrl.reinforce(policy, reflector, rrl.Stage(PICKUP, iterations), settings, report=print)
    return rrl.success_rate(rrl.play(PICKUP, policy, reflector))


if __name__ == "__main__":
    print(f"after RL: {main(sys.argv[1] if sys.argv[1:] else str(tiny_folder())):.0%}")
