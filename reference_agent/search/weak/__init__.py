"""Weakly labelled questions about many repositories: sentences worded as questions by rules, and written ones.

questions    makes them: which sentences, how many of a kind, the card
sources      the repositories that they are about; sources.toml pins them
sentences    finds sentences in code, comments, pages and lists of changes
wording      turns a sentence into a question
clauses      those with a finite verb
grammar      the verbs and patterns that both go by; words.toml lists the words
written      questions about the same repositories that a language model wrote for training, in two wordings
"""

from __future__ import annotations

from reference_agent.search.weak.questions import Made, Weak, make_questions, read_questions
from reference_agent.search.weak.sources import Sources, read_sources
from reference_agent.search.weak.written import Written, read_written

WEAK_FOLDER = "weak-questions"  # in the cache folder, where `reflect-rl data autoexplore` writes

__all__ = [
    "WEAK_FOLDER",
    "Made",
    "Sources",
    "Weak",
    "Written",
    "make_questions",
    "read_questions",
    "read_sources",
    "read_written",
]
