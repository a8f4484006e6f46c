"""The attacks on the sandbox: `natlang check-sandbox` runs them on this machine, and so do the tests.

cases         the attacks, by class and name
calls         those by system call
by_call       those on files and processes outside, one for each way to ask the kernel
by_layer      those on files that many runs share
by_memory     those on the limits that are watched
by_network    those through sockets
kernel_files  those through /proc
attack        what an attack is, and the code that goes before each
arena         the host that is attacked, and how each attempt is judged
host_folder   a folder of the host as the files of a program
"""
