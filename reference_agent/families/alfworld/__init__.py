"""ALFWorld's wing: a teacher that sees what the player sees, its sentences, and lessons on lists of things."""
