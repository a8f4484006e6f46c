"""AutoExplore-ChangeFree: tested code is mended, or a question about tables answered, by free editing in the sandbox.

env           the environment: the copilot's commands, and a verdict at the end
rules         what tasks of both kinds have; scoring: code; data_tasks: tables
patching      a patch as commands, which an entry records
drawing       all tasks, by split; tasks: those of code; protocols: the board's
making        makes code tasks; removals: what can be taken out of a source
test_files    tests with random names, and canaries among them
words         words of added code that a person has to look at
testing       runs tests in the sandbox; referee: the script that does it
lab           pytest, pinned and compiled
recheck       edits of listed tasks, run again in the sandbox
tables        answers of questions about tables; data_programs: programs that answer them
agents        a chat model as a player
"""
