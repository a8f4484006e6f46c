"""What was changed in a sandbox, from the memory of the process to a program's folder and to a patch.

overlay         one changed thing, and all of them over the shared index; without what was installed, for a judge
work_folder     the files where a program finds them, and what it did to them
layered_folder  the same for large repositories: the changes above files that all runs share
patch           the changed files and links as a diff and as a patch, and what was installed, which is in none
line_diff       the lines of a diff
edits           edits as models write them: patches, diffs, blocks of search and replace
"""
