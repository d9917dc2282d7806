"""Simulation of continuous batching: the engine, its settings, time model, and runs."""
