"""The static site.

pages       writes it: the first page, a page a board, a page an entry
overview    the first page: who is best on which board, and where its heads link to
episodes    the episodes that an entry's page shows, and any other one as text
failures    why an entry's episodes and commands fail
paper       a board in LaTeX, Markdown and BibTeX
plots       its pictures
downloads   its CSV, JSON and recordings
players     published players of entries, by their SHA-256
references  the best reference line of each board
"""

from leaderboard.site.pages import build

__all__ = ["build"]
