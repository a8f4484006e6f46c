"""ALFWorld: what the agent needs for it.

teacher  an expert that sees only what the player sees, and gives reasons
warmup   lessons on lists of things, and the words of the household
"""
