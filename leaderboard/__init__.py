"""The leaderboard: every number is derived by replaying recorded actions.

schema      what a submitter states about an entry
pack        makes an entry from a run
verify      replays an entry, one episode at a time, within hard bounds
rounds      live rounds: beacons, commitments, and what an entry has to keep to
live        the tables of the live boards, over an agent's last rounds
copies      finds recordings that two entries share
result      what replay derives, and the ledger that keeps it
audit       runs an entry's agent again on episodes that nobody could foresee
players     published players of entries, by their SHA-256
games       where an audited agent plays, led along a recording or freely
outside     that agent in a process of its own, which it is asked by JSON
player      the program in there
shown       what it is shown of this machine
badges      what maintainers state: badges and the log of corrections
rows        a line of a table, and a table
series      the seeds of one agent as one row
standings   the tables: who is ranked, and which ranks are ties
references  the best reference line of each board
changes     checks a pull request
site        writes the static site
overview    its first page: who is best on which board, and where its heads link to
paper       a board in LaTeX, Markdown and BibTeX
plots       its pictures
downloads   its CSV, JSON and recordings
git         what Git knows of the entries
baselines   makes the entries of the built-in agents again
cli         the command `natlang-leaderboard`

Public are `leaderboard.pack.pack`, `leaderboard.verify.verify`, `leaderboard.standings.standings` and
`leaderboard.site.build`; the rest is internal.
"""
