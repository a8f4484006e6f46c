"""The TextWorld side of ALFWorld; only this package needs the packages alfworld and textworld.

files      game files of every release, from the installed alfworld package
backend    the real engine, with the interface of `engine.world.World`
export     writes games as the alfworld package reads them
"""
