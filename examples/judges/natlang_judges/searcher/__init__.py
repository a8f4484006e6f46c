"""A small judge of repositories that searches or walks, reads and names; learned by imitation and then by reward.

It imports no environment, so that it can be audited where there are none; the family AutoExplore brings its questions.

agent        the judge as an agent, and its weights as a published player
judge        the network, and what it looks at in searches
walking      the rules of a walk through folders, and what the judge looks at there
games        the rules of searches, many games at a time
evidence     what lists and texts say, as numbers
hints        what the words of a path hint at
training     imitation, and reward
"""
