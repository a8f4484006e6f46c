"""The command lines that need no process, as the programs of these names answer them.

parser              splits a command line
context             what the commands share: options, output with a limit, paths that cannot lead out
native              cd, ls, cat, head, tail and echo
search              find, wc, sed -n and pwd
grep                grep
regular_expression  what grep looks for, in time by the length of a line
file_parts          first and last lines of a file, which may be large
"""
