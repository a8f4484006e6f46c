"""Reflect-RL: two-player online RL fine-tuning of small language models (arXiv 2402.12621), in a few flat files.

Read them in the order of Algorithm 1: config, tokenizer, model, warmup and base, lessons and teacher (one file a
family, and teacher_openai), collect and card (lines 2 to 20), sft (21, 22), players and rollout (24 to 33),
policy_gradient with a file for each algorithm (34), rlft (23 to 35; by several processes: processes), pipeline and
stages (all of it), agent (the trained players at evaluation); then rows, reproduce and results (the paper's tables).
"""
