"""AutoExplore: teachers that know where the file is, and their sentences.

memory          lessons for the player that recalls, and its training
search_teacher  searches for words
teacher         walks: why each command of the way, true of what is shown
visits          which files it reads, in vain and on, and the commands to them
"""
