"""A small judge that plays AutoExplore-Change: reads, tries edits, submits; learned by imitation and then by reward."""
