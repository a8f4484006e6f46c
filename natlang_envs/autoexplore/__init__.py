"""AutoExplore: a sandbox, a copilot and an environment over any repository."""
