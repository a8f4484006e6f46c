"""The TextWorld side of ALFWorld: the real engine as a backend, and games exported for it."""
