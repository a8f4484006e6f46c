"""Lessons that teach an untrained tiny model to read prompts."""
