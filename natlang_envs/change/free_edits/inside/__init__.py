"""The judge of changed sources: scripts of their own, which import the standard library, pytest and each other.

calls      calls of a package as plain data: recorded, answered, or taken from a table
referee    one run: tests, calls recorded under tests, or answers
verdict    the comparison of answers, where no source is imported
"""
