"""A training run and its command: settings, stages, folders."""
