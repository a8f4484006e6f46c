"""Change tasks: one place of tested Python code is broken, and the edit that mends it is among those listed.

places        statements and functions by line
worker        a script that runs tests in forks, with other sources or other functions
watching      what a test reaches, leaves behind and does outside
running       a repository with tests, and a process that runs them
usable        which tests can be used, and why the others are left out
tables        what fails after one edit, and after two
issues        what a task tells: the behaviour, no place
making        makes tasks in a journal that goes on
listing       the files of finished tasks
checking      runs finished tasks again
repositories  what the shipped tasks are made of
picking/      AutoExplore-Change: the environment that plays them

The folder `services` has services of the Coffee Company to break, `listed` the tasks: data, never imported here.
"""
