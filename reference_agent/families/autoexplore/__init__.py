"""AutoExplore: a teacher that knows where the file is, and its sentences."""
