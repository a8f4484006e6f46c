"""Learned search of repositories: a small retrieval encoder judges, a planner or a trained policy walks."""
