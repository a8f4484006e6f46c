"""What the judge of `reference_agent.searcher` learns from: AutoExplore's questions, and how it is taught."""
