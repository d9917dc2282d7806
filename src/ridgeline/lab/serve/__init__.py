"""The lab as a server: the same engine in real time behind SGLang's endpoints, on loopback only."""
