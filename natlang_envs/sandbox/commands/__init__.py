"""The command lines that need no process, as the programs of these names answer them.

parser              splits a command line
context             what they share: options, output with a limit, paths that cannot lead out, files to be read
native              cd, ls, cat, head, tail and echo
search              find, wc, sed -n and pwd
editing             sed -i, and edits as models write them
grep                grep
regular_expression  what grep looks for, in time by the length of a line
"""
