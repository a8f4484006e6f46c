"""Reflect-RL: two-player online RL fine-tuning of small language models (arXiv 2402.12621), in a few flat files.

Read them in the order of Algorithm 1: config, tokenizer, model, warmup, lessons, teacher (one file a family, and
teacher_openai), collect and card (lines 2 to 20), sft (21, 22),
rollout (24 to 33), rlft (23, 34), pipeline (all of it), agent (the trained players at evaluation).
"""
