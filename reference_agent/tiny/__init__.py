"""The tiny model: how it is made and warmed up.

untrained  its Llama and its tokenizer before anything is learned
warmup     lessons that a pretrained model does not need
making     all of it, once for the settings that matter
"""
