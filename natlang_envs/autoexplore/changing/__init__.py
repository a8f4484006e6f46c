"""Change tasks: one place of tested Python code is broken, and the edit that mends it is among those listed.

mutations    every single-place edit of a source file
names        what the functions and classes of a source hold
places       statements and functions by line
worker       a script that runs tests in forks, with other sources or one other function
running      a repository with tests, and its outcomes under each listed edit
making       makes tasks and their tables
picking/     AutoExplore-Change: the environment that plays them

The folder `services` has services of the Coffee Company to break: data, never imported here.
"""
