"""A small judge that mends code: it reads, tries edits and submits; learned by imitation and then by reward.

It imports no environment, so that it can be audited where there are none; the family AutoExplore teaches it.

agent   the judge as an agent
judge   the network
desk    what may be done, what tells of each option, and the commands that do it
notes   what was seen in an episode
code    how usual an edit makes a line, in numbers
"""
