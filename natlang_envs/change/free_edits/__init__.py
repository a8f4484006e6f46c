"""AutoExplore-ChangeFree: tested code is mended, or a question about tables answered, by free editing in the sandbox.

env              the environment: the copilot's commands, and a verdict at the end
free_task        what tasks of both kinds have
code_tasks       tasks about code, scored by recorded calls
data_tasks       tasks about tables, scored by running a program again
table_questions  questions about tables, and the programs that answer them
task_sampling    all tasks, by split
causes           why a command does nothing
patching         a patch as commands, which an entry records
agents           a chat model as a player
test_files       files of tests without some of their tests
sandbox_tests    runs tests, and asks sources, in the sandbox
inside/          the scripts that do so there, and the comparison
pinned_pytest    the lab: pytest, pinned and compiled
"""
