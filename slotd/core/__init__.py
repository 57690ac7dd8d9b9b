"""The heart of slotd: what the engine holds, where requests go, and the lines rewritten for it.

Here: a model fed with both directions' lines, the two slot numberings, the decisions carried out on
lines, and the events that tell of it. One way: bytes -> lines -> model -> decision -> lines ->
bytes. Not here: I/O and clocks (the time is passed in), the rules of placement (`slotd.policy`),
the shape of lines (`protocol`).
"""
