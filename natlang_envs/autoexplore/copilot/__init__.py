"""The copilot: a person, a model or an agent works in a sandbox, one command at a time."""
