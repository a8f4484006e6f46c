"""DangerousTaxi's wing: a teacher that drives, its sentences, and lessons on walls and directions."""
