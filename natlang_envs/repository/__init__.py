"""A repository as AutoExplore sees it.

tree         the index of a folder: names, kinds, sizes, contents on demand; links are never followed
entries      what is known of a file or folder, and how it is opened
names        file names as text, and back to the bytes of the disk
ignore       what `.gitignore` files leave out
wildmatch    git's patterns of names
navigation   the pages of every folder, their commands, and shortest routes
walk         a player's position, its routes, and what it has seen
words        the words of questions, files and paths
texts        the texts that a player reads: pages, files, questions and answers
mutations    every single-place edit of a Python source
hits         the lists of searches in words, and the words of a question that are searched for
"""
