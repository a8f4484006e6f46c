"""The leaderboard: every number is derived by replaying recorded actions.

schema       what a submitter states about an entry
pack         makes an entry from a run
verify       replays an entry, one episode at a time, within hard bounds
result       what replay derives, and the ledger that keeps it
copies       finds recordings that two entries share
own_protocols  protocols that no package ships, beside the entries
rounds       live rounds: beacons, commitments, and their rules for an entry
agent_files  the files that a committed or audited agent can read
audit/       runs an entry's agent again on episodes that nobody could foresee
standings/   the tables: who is ranked, which ranks are ties, and the columns of all outputs
site/        writes the static site
changes      checks a pull request
players      fetches published players from the repository's history
baselines    makes the entries of the built-in agents again
git          runs Git
cli          the command `natlang-leaderboard`

Public are `leaderboard.pack.pack`, `leaderboard.verify.verify`, `leaderboard.audit.audit`,
`leaderboard.standings.standings` and `leaderboard.site.build`; the rest is internal.
"""
