"""Two small agents for natlang_envs, each a network of a few thousand weights, and the commands that train them.

judges    loads and publishes their weights
learning  what both share in learning
command   the commands `reflect-rl search` and `reflect-rl mend`
searcher/ answers questions about a repository by searching for words or walking through folders
mender/   repairs code: reads, tries edits, runs the tests

In each of the two, `agent` plays, `network` scores what may be done, and `training` teaches it.
"""
