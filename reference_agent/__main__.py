"""The `reflect-rl` command, also as `python -m reference_agent`."""

from natlang_envs.cli.support import run_app


def main() -> None:
    run_app("reference_agent.run.command:app", "reflect-rl")


if __name__ == "__main__":
    main()
