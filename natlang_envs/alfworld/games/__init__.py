"""ALFWorld's games: generated ones, synthetic rooms, and the official lists."""
