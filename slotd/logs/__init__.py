"""Events on their way to a person: formatting, writing without ever holding up the relay, reading.

Here: the structlog chain, the thread that writes, and what `slotd tail` needs to read a log again.
Not here: which events there are (`slotd.core.events` and whoever makes them).
"""
