"""ALFWorld's games: generated ones, synthetic rooms, and the official lists.

splits, size_limits        names of splits and task types; the largest game
official                   the official games, read from `$ALFWORLD_DATA`
folder                     games of a folder; sentences that people wrote
floor_plans                rooms, and statistics of the official games
generated_tasks            the base of sources that make their games, and the generated games of a split,
generator, layout          each generated from its id: an aim, its sentence and a layout,
pddl_writer, game_builder  written as a PDDL problem, or built at once
synthetic_rooms            a new room for every game
realistic, realistic_layout  games much like the official ones, by what is usual in each room
"""
