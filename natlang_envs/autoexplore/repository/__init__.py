"""A repository as AutoExplore sees it: its files, its folders page by page, and how both are told in words."""
