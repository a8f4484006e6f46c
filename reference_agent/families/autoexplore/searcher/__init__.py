"""A small judge that plays AutoExplore-Search: searches, reads, names; learned by imitation and then by reward."""
