"""AutoExplore-Search: find the file by searching for words in all files.

env, episode     the environment, and the rules of one episode
causes           why a command does nothing, and what was meant
listing          lists, texts and commands of a question, shared in the process
line_index       the lines of a repository by their words
agents           baselines that learn nothing
plan             the fewest commands to a file
"""
