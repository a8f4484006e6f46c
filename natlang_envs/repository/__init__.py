"""A repository as AutoExplore sees it.

tree         the index of a folder: names, kinds, sizes, contents on demand; links are never followed
entries      what stands in a folder, opened without following links
renewal      a file that changed meanwhile is taken anew or left out
names        file names as text, and back to the bytes of the disk
ignore       what git's ignore files leave out
wildmatch    patterns of ignore files
navigation   the pages of every folder, their commands, and shortest routes
texts        what a player reads: places, files, questions and answers in words
"""

from __future__ import annotations

from natlang_envs.repository.tree import Repository, RepositoryChanged, open_repository

__all__ = ["Repository", "RepositoryChanged", "open_repository"]
