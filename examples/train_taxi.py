"""Reflect-RL on DangerousTaxi with a Hugging Face model of your own: python examples/train_taxi.py [MODEL]"""

from __future__ import annotations

import sys

from transformers import AutoModelForCausalLM, AutoTokenizer

import reference_agent as rrl
from reference_agent.tiny.making import tiny_folder

PICKUP = "NatLang/DangerousTaxi-Pickup-v0"
TINY = str(tiny_folder())
RATE = {TINY: 1e-3}  # a pretrained model would be wrecked by the tiny one's rate


def main(name: str, steps: int = 150, iterations: int = 30) -> float:
    """Return the success rate on validation tasks after training on those of the split `train`."""
    base = rrl.LanguageModel.of(AutoModelForCausalLM.from_pretrained(name), AutoTokenizer.from_pretrained(name))
    rate = RATE.get(name, 1e-5)
    examples = rrl.collect(PICKUP, "oracle", rrl.CollectConfig(trajectories=25))
    reflector = rrl.fine_tune_reflector(base.copy(), examples, rrl.SFTConfig(steps, learning_rate=rate))
    policy = rrl.fine_tune_policy(base.copy(), examples, rrl.PolicySFTConfig(steps, learning_rate=rate))
    before = rrl.success_rate(rrl.play(PICKUP, policy, reflector, split="validation"))
    print(f"Learned on split train. On split validation, before RL: {before:.0%}")
    settings = rrl.RLConfig(reward_scale=20.0, learning_rate=0.4 * rate)
    rrl.reinforce(policy, reflector, rrl.Stage(PICKUP, iterations), settings, report=print)
    return rrl.success_rate(rrl.play(PICKUP, policy, reflector, split="validation"))


if __name__ == "__main__":
    print(f"On split validation, after RL: {main(sys.argv[1] if sys.argv[1:] else TINY):.0%}")
