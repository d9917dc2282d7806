"""A pickle machine that builds plain values and inert records only. It runs in a child process of its own.

These files import nothing but each other and the standard library, never `pickle`.
"""
