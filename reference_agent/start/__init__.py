"""`reflect-rl start`: from the file of a game to trained players and a board of its own.

game      of a file the environment and the teacher, the conformance kit, how much of the path p(s) has to show, and the
          protocol with its evaluation, its entry and its site
training  a minute's try of each model, then twice as much until validation is won; what does not learn
command   `start`
"""
