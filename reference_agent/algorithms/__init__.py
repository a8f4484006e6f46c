"""Policy-gradient algorithms for line 34 of Algorithm 1."""
