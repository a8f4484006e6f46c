"""The labelled dataset of AutoExplore: questions about repositories, and the files that answer them.

catalogue        the repositories, pinned, and where their files lie on this machine
package_index    a file from the packaging index that pip is set to
fetch            brings a repository into the cache
unpack           unpacks archives that nobody trusts
labels           a question, its targets, and the evidence
shipped          the dataset's own labels, a file for each split; evidence that is not quoted, for its licence
checks           the rules that every label satisfies, and questions that are nearly the same
report           checks, counts and simple searchers over all labels
blind_review     a second reading that does not know the answers
export           state-action pairs, and the published form
card             the dataset card
own_labels       labels of your own repository, by hand
llm_labels       labels of your own repository, by a model
made_questions   labels of your own repository, by rules
"""

from __future__ import annotations

from natlang_envs.autoexplore.dataset.labels import Evidence, FileVerdict, Label
from natlang_envs.autoexplore.dataset.shipped import load_labels

__all__ = ["Evidence", "Label", "FileVerdict", "load_labels"]
