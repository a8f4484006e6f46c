"""Runs `python` and `pip` with access to one folder and nothing else.

isolation          finds what isolates on this machine, and runs a program in it
namespaces         starts bubblewrap and ends all that runs in it
ends_with_caller   the process group that a killed caller takes along
child              what a program finds: its Python, its environment, its command line
environments       a Python environment of the user's, as programs see it
control_group      has the kernel count the memory of a run, where that can be
files              what a program works on, and a folder of the host as that
inherited          what programs inherit of the process that starts them
layers             an overlay over files that many runs share
processes          the memory of a run's processes, and of the kernel for them
system_calls       the seccomp filter
watch              output, time, memory and files while it runs
temporary_folders  a folder of the host for as long as this process lives, and the safe removal of any
"""
