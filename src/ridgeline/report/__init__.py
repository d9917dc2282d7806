"""A diagnosis made visible: terminal, Markdown, and the JSON contract. Everything shown is handed in by the cli."""
