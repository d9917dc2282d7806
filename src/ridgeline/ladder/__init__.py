"""The ladders: frame, rungs, the one evaluator, and `diagnose`."""
