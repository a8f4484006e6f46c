"""The quoter: answers AutoExplore-Answer in its listed form, with a searcher, a judge of passages and one of words."""
