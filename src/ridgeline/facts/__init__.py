"""The measures: one question, one SQL, one `Fact`. `MEASURES` is the literal list by which evidence recomputes."""
