"""Teachers: M_R of Algorithm 1, which reflects on a state and acts.

base    the interface: a function from a `Moment` (privileged view) to a reflection and an action
choose  finds a teacher by name (entry-point group `natlang_envs.teachers`), or the generic one
check   whether demonstrations are true of their p(s)
chat    a chat model behind an OpenAI-compatible endpoint

Those of single families stand in `reference_agent.families`.
"""
