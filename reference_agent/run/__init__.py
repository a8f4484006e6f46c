"""A run: its settings, its folder, and the command.

config       settings
bounds       which values settings take
config_file  settings as TOML and JSON
idle         settings that have no effect beside others
inputs       what a folder's result was made from
data_card    what is in a data set, counted
stages       a run's folder: settings, start model, stages before RL, players
pipeline     Algorithm 1 from end to end
published    trained players as files that a repository can hold
agent        the trained players on a protocol
telling      what is said while something learns
together     both players bound together, from a model to a board
command      `reflect-rl`
memory_command  its commands about players who remember
"""
