"""The vocabulary: metrics, stages, fields, log keys, queues, flags, launch arguments, events, symptoms.

Data only, standard library only. Names and semantics of SGLang and vLLM as read from their packages
(SGLang 0.4.6.post5, 0.4.10, 0.5.3, 0.5.6, 0.5.9, 0.5.23; vLLM 0.32.0) and from recorded runs.
"""
