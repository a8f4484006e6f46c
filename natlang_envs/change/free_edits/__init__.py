"""AutoExplore-ChangeFree: tested code is mended, or a question about tables answered, by free editing in the sandbox.

env            the environment: the copilot's commands, and a verdict at the end
rules          what tasks of both kinds have
scoring        the rules of code tasks, and the recorded calls that they are scored by
data_tasks     the rules of data tasks, and the programs that answer them
drawing        all tasks, by split
tasks          code tasks, as their files hold them
tables         answers of questions about tables
why            why a command does nothing
patching       a patch as commands, which an entry records
protocols      writes the board's protocol
agents         a chat model as a player
making         makes code tasks: what can be taken out of a source
test_files     files of tests without some of their tests
testing        runs tests, and asks sources, in the sandbox
inside/        the scripts that do so there, and the comparison
lab            pytest, pinned and compiled
"""
