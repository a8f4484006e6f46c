"""Teaches a memory of names from the files of repositories and training questions, and a policy that plays by it.

learning     counts the words of questions about each part of each file
teaching     questions as games over kept numbers, a millisecond each; imitation, and reward
questions    the questions to learn from, and their repositories
settings     from what, how long and how fast
run          one folder for all of it, or one for each cell of a table
"""
