"""DangerousTaxi: Gymnasium's Taxi told in words, where one illegal move ends the game."""
