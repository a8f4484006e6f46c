"""Two small agents for natlang_envs, each a network of a few thousand weights, and the commands that train them.

searcher/  answers questions about a repository by searching for words or walking through folders
mender/    repairs code: reads, tries edits, runs the tests
weights    loads and publishes their weights
command    the commands `reflect-rl search` and `reflect-rl mend`
"""
