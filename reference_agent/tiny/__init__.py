"""The tiny model: how it is made and warmed up.

untrained  its Llama and its tokenizer before anything is learned
warmup     lessons that a pretrained model does not need
own        one for any environment, in minutes
making     all of it, once for the settings that matter
"""
