"""ALFWorld (Shridhar et al., 2021): household tasks in words, played by an engine of our own that needs no download."""
