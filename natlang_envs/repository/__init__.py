"""A repository as AutoExplore sees it.

tree         the index of a folder: names, kinds, sizes, contents on demand; links are never followed
entries      what is known of a file or folder, and how it is opened
names        file names as text, and back to the bytes of the disk
ignore       what `.gitignore` files leave out
wildmatch    git's patterns of names
navigation   the pages of every folder, their commands, and shortest routes
walk         where a player stands, how it gets elsewhere, and what it has seen
words        the words that questions, files and paths are made of
texts        what a player reads: places, files, questions and answers in words
mutations    every single-place edit of a Python source
hits         the lists of searches in words, and the words of a question that are searched for
"""

from __future__ import annotations

from natlang_envs.repository.tree import Repository, RepositoryChanged, open_repository

__all__ = ["Repository", "RepositoryChanged", "open_repository"]
