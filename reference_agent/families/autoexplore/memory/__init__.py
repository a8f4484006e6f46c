"""Teaches a memory of names from the files of repositories and training questions, and a policy that plays by it.

learning     counts the words of questions about each part of each file
games        questions as games over kept numbers, a millisecond each
teaching     imitation, and reward
run          one folder for all of it
"""
