"""slotd: a sidecar that chooses batch slots and parks for an LLM inference engine.

`slotd.policy` (the rules), `slotd.core` (model and rewriting) and the engine in `slotd.sim` are
pure: no I/O and no clock of their own. `slotd.daemon` is the shell that owns processes, pipes,
sockets and signals.
"""
