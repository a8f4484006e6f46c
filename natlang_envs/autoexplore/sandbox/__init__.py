"""A sandbox over a repository: look around, edit and run programs without changing the original."""
