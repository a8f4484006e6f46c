"""A run: its settings, its folder, and the command.

config       settings
bounds       the values that settings take
config_file  settings as TOML and JSON
fingerprint  what a folder's result was made from
stages       a run's folder: settings, start model, stages before RL
players      both players with what they are asked with, from a model to a board
pipeline     Algorithm 1 from end to end
published    trained players as files that a repository can hold
agent        the trained players on a protocol
progress     lines of progress while something learns
command      `reflect-rl`
memory_command  its commands about players who remember
"""
