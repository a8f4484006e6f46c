"""ALFWorld's rules and texts, step by step as TextWorld plays them."""
