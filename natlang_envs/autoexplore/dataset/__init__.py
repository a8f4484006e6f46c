"""The labelled dataset of AutoExplore: questions about repositories, and the files that answer them.

cli, label_cli     the commands of `natlang data`
catalogue          the repositories, pinned; locations, repositories: their folders
package_index      a file from the packaging index that pip is set to
fetch, unpack      fetches archives, and unpacks what nobody trusts
labels             a question, its targets, and the evidence
checks             the rules that every label satisfies
near_duplicates    questions that are nearly the same
report             checks, counts and simple searchers over all labels
blind_review       a second reading that does not know the answers
export             state-action pairs, Parquet files, the dataset card
llm_labels         labels of your own repository, by a model
coffee_company/    builds the one repository that is not fetched
"""
