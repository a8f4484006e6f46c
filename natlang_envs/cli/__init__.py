"""The `natlang` command."""
