"""A player who remembers which part of which file of a known repository speaks of what.

It imports no environment, so that it can be audited where there are none; the family AutoExplore teaches the memory.

names        the memory, and its file
judging      judges of a shown text, by words or by a language model's lift
evidence     a judge of texts by learned weights of a language model's states
plan         what to read next and what to name, within the steps
exploring    the same where nothing is remembered: names, or the lists of searches
policy       a learned choice of goals in place of the plan
player       the player as an agent
"""
