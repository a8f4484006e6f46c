"""Lessons that teach an untrained tiny model to read prompts; pretrained models skip them.

warmup   the lessons, in order: lists, repeating, labels, walls, directions
alfworld made-up questions about places and lists, for ALFWorld
"""
