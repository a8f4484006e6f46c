"""Gift cards of the Coffee Company and their journal; see README.md."""
