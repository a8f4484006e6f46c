"""The changes of a sandbox: in memory, in the folder of a program, and as a patch.

overlay         the changes over the index of a repository; a copy of both for a judge
work_folder     the folder of a program, filled before a run and read after it
layered_folder  the same for large repositories: the changes above files that all runs share
patch           the changed files and links as a diff and as a patch, and what was installed
line_diff       the lines of a diff
edits           edits as models write them: patches, diffs, blocks of search and replace
"""
