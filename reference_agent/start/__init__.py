"""`reflect-rl start`: from the file of a game to trained players and a board of its own.

game      the environment and the teacher of a file, the conformance kit, how much of the path p(s) has to show
training  a minute's try of each model, then twice as much until validation is won; what does not learn
command   `start`
board     the protocol of the game, its evaluation, its entry and its site
"""
