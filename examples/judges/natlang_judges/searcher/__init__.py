"""Searches or walks, reads and names: `games` and `walking` have the rules, `evidence` what is shown, as numbers."""
