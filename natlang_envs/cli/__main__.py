"""`natlang` as `python -m natlang_envs.cli`."""

from natlang_envs.cli.main import main

main()
