"""Runs `python` and `pip` with access to one folder and nothing else."""
