"""Models without fine-tuning, as agents of `natlang evaluate --agent`.

agents      zero-shot (labels), zero-shot-chat (chat template) and react (a chat model behind an endpoint)
likelihood  search of AutoExplore by how likely a file makes the question
"""
