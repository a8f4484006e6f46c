"""AutoExplore-ChangeFree: tested code is mended, or a question about tables answered, by free editing in the sandbox.

env            the environment: the copilot's commands, and a verdict at the end
rules          what tasks of both kinds have
scoring        the rules of code tasks, and words of added code that a person has to look at
data_tasks     the rules of data tasks, and the programs that answer them
drawing        all tasks, by split
tasks          code tasks, as their files hold them
tables         answers of questions about tables
why            why a command does nothing
patching       a patch as commands, which an entry records
protocols      writes the board's protocol
agents         a chat model as a player
making         makes code tasks: what can be taken out of a source
test_files     tests with random names, and canaries among them
testing        runs tests in the sandbox
referee        the script that does so there
lab            pytest, pinned and compiled
"""
