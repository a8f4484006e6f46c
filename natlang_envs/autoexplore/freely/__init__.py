"""AutoExplore-ChangeFree: tested code is mended, or a question about tables answered, by free editing in the sandbox.

lab          pytest, pinned and compiled, for the sandbox
"""
