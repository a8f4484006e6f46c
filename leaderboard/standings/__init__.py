"""The tables: who is ranked, and which ranks are ties.

badges   what maintainers state: badges, owners and the log of corrections
rows     a line of a table, and a table
columns  the columns of a table, for all outputs
series   the seeds of one agent as one row
tables   one table a protocol, from the ledger or by replay
live     the tables of the live boards, over an agent's last rounds
"""

from leaderboard.standings.tables import entry_folders, replay_all, standings

__all__ = ["entry_folders", "replay_all", "standings"]
