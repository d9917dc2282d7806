"""How far the simulator can be trusted on a given traffic: fit on its first part, predict the rest, compare."""
