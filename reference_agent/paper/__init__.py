"""The paper's tables and figures: `reflect-rl reproduce`.

experiments  tasks, methods, presets and targets; the paper's own numbers; protocols for test and validation
plan         the cells of a target, and their folders
reproduce    trains and evaluates the cells, in several processes
tables       the table, as Markdown and JSON, and the learning curves
"""
