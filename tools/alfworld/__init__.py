"""Commands that compare our ALFWorld engine with TextWorld, and make its data."""
