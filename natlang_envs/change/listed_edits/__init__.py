"""AutoExplore-Change: mend broken code by one of the listed edits.

env, episode  the environment, and the rules of one episode
causes        why a command does nothing, and what was meant
views         pages of folders, sources and lines, with their commands
repository    a repository, shared by its tasks
tasks         a task with what each edit makes fail
agents        baselines that learn nothing
"""
