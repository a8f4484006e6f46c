"""Teachers: they say what to do and why (M_R of Algorithm 1)."""
