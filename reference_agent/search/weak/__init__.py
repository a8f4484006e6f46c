"""Weakly labelled questions: sentences of many repositories, worded as questions by rules.

questions    makes them: which sentences, how many of a kind, the card
sources      the repositories that they are about; sources.toml pins them
sentences    finds sentences in code, comments, pages and lists of changes
wording      turns a sentence into a question; clauses: those with a finite verb
grammar      the verbs and patterns that both go by; words.toml lists the words
"""

from __future__ import annotations

from reference_agent.search.weak.questions import Made, Weak, make_questions, read_questions
from reference_agent.search.weak.sources import Sources, read_sources

__all__ = ["Made", "Sources", "Weak", "make_questions", "read_questions", "read_sources"]
