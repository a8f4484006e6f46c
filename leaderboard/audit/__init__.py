"""Audits: an entry's agent is run again, in a process of its own, on episodes that nobody could foresee.

auditing       guides it along the recording, lets it play, and compares
sessions       its episodes, guided or played by its own choices
agent_process  its process, which answers JSON
player         the program in that process
"""

from leaderboard.audit.auditing import Audit, audit

__all__ = ["Audit", "audit"]
