"""Evaluation: agents play protocols, and every run can be replayed.

protocols        which episodes make a score, as data with a digest
live             the rounds of a month, whose tasks are sampled from a public text
agents           what an agent is, the built-in ones, and how `--agent` is understood
runner           plays a protocol with an agent and keeps the run
playing          plays episodes in batches, and in threads
workers          plays in other processes, or on a Ray cluster
recording        an environment for a loop of one's own, which writes the same run
published        trained players as small files that name each other by SHA-256
runs             a run on disk: run.json, the recording, the journal of an unfinished run
chat_players     chat models that play: react, tools and chat
chat_settings    how a chat model is asked
chat_endpoint    an OpenAI-compatible endpoint: finds it by environment variables, asks, waits and tries again
chat_response    reads what it answers: whole, cut by the model's limit, or a failure of the provider
model_requests   what an episode asked of a model, kept beside the run; what it took; how answers were read
statistics       scores, their 95% intervals, and paired tests
causes           why episodes fail and why commands do, counted from recordings
"""

from natlang_envs.evaluation.agents import Agent, AgentInput, Decision, load_agent
from natlang_envs.evaluation.causes import Causes, count_causes
from natlang_envs.evaluation.live import Round, live_boards, live_protocol, why_development
from natlang_envs.evaluation.protocols import Episode, Protocol, load_protocol, protocol_names
from natlang_envs.evaluation.recording import record
from natlang_envs.evaluation.runner import Progress, evaluate
from natlang_envs.evaluation.runs import Run, read_run
from natlang_envs.evaluation.statistics import Interval, Score, paired_p, score

__all__ = [
    "Agent",
    "AgentInput",
    "Causes",
    "Decision",
    "Episode",
    "Interval",
    "Progress",
    "Protocol",
    "Round",
    "Run",
    "Score",
    "count_causes",
    "evaluate",
    "live_boards",
    "live_protocol",
    "load_agent",
    "load_protocol",
    "paired_p",
    "protocol_names",
    "read_run",
    "record",
    "score",
    "why_development",
]
