"""Faults done to the real commands, and what their next start makes of them: `python -m tools.faults`.

cases      the six commands, what they read, and which files are their result
faults     kills, full and read-only disks, wrong clocks, two processes, corrupt lines
__main__   the command, and the page that it writes
"""
