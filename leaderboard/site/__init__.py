"""The static site.

pages     writes it: the first page, a page a board, a page an entry
overview  the first page: the best agents of each board, and the links of all pages
episodes  the episodes that an entry's page shows, and any other one as text
entries   the other parts of an entry's page
exports   a board as CSV, JSON, LaTeX, Markdown and BibTeX, and the recordings
plots     its pictures
"""

from leaderboard.site.pages import build

__all__ = ["build"]
