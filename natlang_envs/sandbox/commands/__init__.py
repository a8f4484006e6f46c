"""The commands of the sandbox that need no process. One is added as a `Command` of a module that has a `KIND`.

looking, searching, writing  the commands by kind
table                        all of them, for the sandbox, the prompt and the page
context                      how a command is described, options, output, paths
files                        files as commands read them
grep, regular_expression     the search in texts, in time by the length of a line
parser                       command lines into words
"""
