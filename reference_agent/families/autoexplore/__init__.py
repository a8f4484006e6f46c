"""AutoExplore: teachers that know where the file is, and their sentences.

memory   lessons for the player that recalls, and its training
teacher  walks, or searches: why each command of the way, true of what is shown
visits   which files it reads, in vain and on, and the commands to them
"""
