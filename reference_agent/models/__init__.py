"""Language models as players.

named           what a model's name stands for, and fetching
backbone        loading (precision, 8 bits, device), folders that are complete or missing
adapters        LoRA adapters, by which players share a base
tokenizer       the tokenizer's side: lengths, labels, prompts
language_model  a causal LM that writes reflections, or chooses one of the listed labels
saycan          other heads: each action scored by its own text, or written
generation      greedy, sampled and speculative decoding with a key/value cache
served          a frozen reflector behind an OpenAI-compatible server
"""
