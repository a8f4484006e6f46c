"""The `natlang-leaderboard` command, also as `python -m leaderboard`."""

from natlang_envs.cli.support import run_app


def main() -> None:
    run_app("leaderboard.cli:app", "natlang-leaderboard")


if __name__ == "__main__":
    main()
