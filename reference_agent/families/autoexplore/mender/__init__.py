"""How the judge of `reference_agent.mender` is taught: it plays AutoExplore-Change."""
