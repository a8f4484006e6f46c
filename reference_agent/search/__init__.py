"""Learning to search a repository: the data, the judgements and the agents that use them."""
