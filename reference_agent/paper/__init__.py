"""The paper's tables and figures: `reflect-rl reproduce`.

experiments  tasks, methods, presets, targets and their cells; the paper's numbers; protocols for test and validation
reproduce    trains and evaluates the cells, in several processes
tables       the table, as Markdown and JSON, and the learning curves
"""
