"""Server logs: bytes are framed into lines (`frame`), then a literal list of parsers takes what it knows (`reader`)."""
