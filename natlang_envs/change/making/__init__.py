"""Makes change tasks: one place of tested Python code is broken, and the edit that mends it is among those listed.

make_tasks      makes tasks in a journal from which it can continue
fork_runner     a repository with tests, and a process that runs them
fork_worker     the script of that process: tests in forks, with other sources or other functions
side_effects    what a test reaches, leaves behind and does outside
usable_tests    which tests can be used, and why the others are left out
code_locations  statements and functions by line
outcome_tables  what fails after one edit, and after two
issues          the text of a task: the behaviour, no place
recheck         runs cells of finished tables again
"""
