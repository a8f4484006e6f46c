"""DangerousTaxi: what the agent needs for it.

teacher  a driver that says why
warmup   lessons on walls and directions
"""
