"""Teaches a memory of names from the files of repositories and training questions, and a policy that plays by it.

learning     counts the words of questions about each part of each file
judge        teaches a judge of texts from labels
teaching     questions as games over kept numbers, a millisecond each; imitation, and reward
questions    from what, how long and how fast: the questions, their repositories, and the settings
run          one folder for all of it, or one for each cell of a table
"""
