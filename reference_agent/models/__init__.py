"""Language models as players.

language_model  a causal LM that writes reflections, or chooses one of the listed labels
saycan          the alternative: each action scored by its own text
prompt_reader   the tokenizer's side: lengths, labels, the policy's prompt
backbone        loading (precision, 8 bits, device), LoRA adapters, the tiny Llama
generation      greedy and sampled decoding with a key/value cache
tokenizer       a small tokenizer for the tiny model; labels that are single tokens
served          a frozen reflector behind an OpenAI-compatible server
start           the model that both players start from
packages        models from the packaging index: SmolLM2-135M-Instruct, all-MiniLM-L6-v2
"""
