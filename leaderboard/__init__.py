"""The leaderboard: every number is derived by replaying recorded actions.

schema      what a submitter states about an entry
pack        makes an entry from a run
verify      replays an entry, one episode at a time, within hard bounds
copies      finds recordings that two entries share
result      what replay derives, and the ledger that keeps it
badges      what maintainers state: badges and the log of corrections
standings   the tables: who is ranked, and which ranks are ties
changes     checks a pull request
site        writes the static site; downloads: its CSV, JSON and recordings
baselines   makes the entries of the built-in agents again

Public are `leaderboard.pack.pack`, `leaderboard.verify.verify`, `leaderboard.standings.standings` and
`leaderboard.site.build`; the rest is internal.
"""
