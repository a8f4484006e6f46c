"""`python -m reference_agent` is `reflect-rl`."""

from reference_agent.cli import main

main()
