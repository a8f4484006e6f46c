"""Faults done to the real commands, and what their next start makes of them: `python -m tools.faults`.

loopback   a chat model and a packaging index, served by this process
cases      the six commands: what each is started with, and which files are its result
faults     kills, full and read-only disks, wrong clocks, two processes, corrupt lines
page       docs/faults.md
"""
