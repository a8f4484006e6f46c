"""The leaderboard: submissions whose every number is derived again by replay, the standings, and a static site."""
