"""Which files of a repository answer a question: full-text search over files, stretches of 40 lines, and paths.

find          answers a question: the best files, and the lines that matched
index         the index of a repository, kept in the cache folder and brought up to date
engines       tantivy, or SQLite's FTS5
documents     a file in words, and what kind of file it is
"""

from natlang_envs.finder.find import FoundFile, Line, find
from natlang_envs.finder.index import FileIndex

__all__ = ["FileIndex", "FoundFile", "Line", "find"]
