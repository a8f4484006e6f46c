"""Change tasks: one place of tested Python code is broken, and the edit that mends it is among those listed.

mutations    every single-place edit of a source file
running      runs a repository's tests, as it is or with one edit, in forks of one process
making       makes tasks: breaks a repository, keeps what its tests notice, and tabulates every edit's outcome
services/    services of the Coffee Company to break: data, never imported
"""
