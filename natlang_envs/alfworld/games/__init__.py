"""ALFWorld's games: generated ones, synthetic rooms, and the official lists.

splits, size_limits        names of splits and task types; the largest game
official                   the official games, read from `$ALFWORLD_DATA`
folder, human_goals        games of a folder; sentences that people wrote
floor_plans                rooms, and statistics of the official games
made_games                 the base of sources that make a game when it is asked for
game_builder               a game from what was drawn
generated_tasks            the generated games of a split,
generator, layout          each drawn from its id: an aim and a layout,
sentences, pddl_writer     written as a sentence and as a PDDL problem
synthetic_rooms            a new room for every game
realistic, realistic_layout  games that are hardly told from the official ones,
room_habits                and what is usual in each room
weighted_choice            draws with integer weights
"""
