"""Audits: an entry's agent is run again, in a process of its own, on episodes that nobody could foresee.

auditing  leads it along the recording, lets it play freely, and compares
games     where it plays, led along a recording or freely
outside   its process, which is asked by JSON
player    the program in there
"""

from leaderboard.audit.auditing import Audit, audit

__all__ = ["Audit", "audit"]
