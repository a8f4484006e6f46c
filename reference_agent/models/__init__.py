"""Language models as players.

language_model  a causal LM that writes reflections, or chooses one of the listed labels
saycan          other heads: each action scored by its own text, or written
backbone        loading (precision, 8 bits, device), LoRA adapters
tiny_llama      the tiny Llama, before it has learned anything
origin          what a model has learned to read, and what it meets
speculative     the same texts sooner: a pass verifies a few drafted tokens
generation      greedy and sampled decoding with a key/value cache
tokenizer       the tokenizer's side: lengths, labels, the policy's prompt; a small one for the tiny model
served          a frozen reflector behind an OpenAI-compatible server
start           the model that both players start from, made here or from the packaging index
"""
