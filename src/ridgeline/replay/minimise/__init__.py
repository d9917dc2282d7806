"""Minimise: from a dump that brings a fault to the fewest and shortest requests that still bring it (delta debugging).

Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input" (2002), with three changes: what the outcomes
say of a failing try narrows the next one, suffixes are galloped because a crash follows its cause, and a set counts as
passing only after as many tries as the fault's rate asks for.
"""
