"""Builds the Coffee Company: a made-up company in documents, code and tables.

build        writes everything into a folder
reference    its registers, hand-written in `data/reference`
sales        what it sold in 2025, receipt by receipt
work         green coffee that arrived, batches roasted, hours worked
books        its accounts, reviews, members and fridge logs
draws        integers that are the same on every machine
"""

from __future__ import annotations

from natlang_envs.autoexplore.dataset.coffee_company.build import build_coffee_company

__all__ = ["build_coffee_company"]
