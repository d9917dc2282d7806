"""Prompts as prefix identity: hashes of every prefix at a grain, and where a prompt parts from the one it resembles."""
