"""The attacks on the sandbox: `natlang check-sandbox` runs them on this machine, and so do the tests.

cases  the attacks by class and name, from a file for each class
arena  the host that is attacked, and how each attempt is judged
"""
