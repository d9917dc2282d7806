"""Arrays in, numbers out: buckets, intervals, contrasts, change points, trends, class search.

Pure and deterministic: nothing here reads a file, a clock or a global random state.
"""
