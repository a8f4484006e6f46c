"""Finds the files of a repository that answer a question, by their words and by the names that they define.

find          answers a question: the best files, the lines that matched, and the chance that they answer
passages      the lines that answer it most likely
ranking       the score of each file, and its calibration; `alike.txt` holds the words that mean the same
index         the index of a repository, kept in the cache folder and brought up to date
postings      the inverted index, in a file of SQLite
documents     a file in words, and what kind of file it is
definitions   the names that a file defines
"""

from natlang_envs.finder.find import Answer, FoundFile, Line, find
from natlang_envs.finder.index import FileIndex
from natlang_envs.finder.passages import FoundPassage, find_passages

__all__ = ["Answer", "FileIndex", "FoundFile", "FoundPassage", "Line", "find", "find_passages"]
