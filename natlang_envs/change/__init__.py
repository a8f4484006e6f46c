"""Change tasks: tested code is broken, and a player mends it; tests judge the result.

repositories   the repositories that tasks are made of, and the folder `datasets/change`
task_files     files of tasks with listed edits: their format, reading, writing
making/        makes those tasks from a repository with tests
listed_edits/  AutoExplore-Change: choose one of the listed edits
free_edits/    AutoExplore-ChangeFree: edit freely in the sandbox; has questions about tables, too
harbor/        questions and changes as Harbor's task folders
protocols      writes the evaluation protocols

A folder `datasets/change` has the services of the Coffee Company that are broken, and the tasks. A wheel has it as an
archive.
"""
