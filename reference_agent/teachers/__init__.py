"""Teachers: M_R of Algorithm 1, which reflects on a state and acts.

base            the interface: a function from a `Moment` (privileged view) to a reflection and an action
choose          finds a teacher by name (entry-point group `natlang_envs.teachers`), or the generic one
dangerous_taxi  DangerousTaxi's own teacher
alfworld        ALFWorld's own teacher, an expert that sees what the player sees
autoexplore     AutoExplore's own teacher
chat            a chat model behind an OpenAI-compatible endpoint
"""
