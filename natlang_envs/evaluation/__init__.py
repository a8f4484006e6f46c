"""Evaluation: protocols that are data, agents that are callables, runs that can be replayed, intervals."""

from natlang_envs.evaluation.agents import Agent, AgentInput, Decision, load_agent
from natlang_envs.evaluation.protocols import Protocol, load_protocol, protocol_names
from natlang_envs.evaluation.runner import Run, evaluate, read_run
from natlang_envs.evaluation.statistics import Interval, Score, score

__all__ = [
    "Agent",
    "Decision",
    "Interval",
    "Protocol",
    "Run",
    "Score",
    "AgentInput",
    "evaluate",
    "load_agent",
    "load_protocol",
    "protocol_names",
    "read_run",
    "score",
]
