"""One logged decision, explained to a person: from log records to what decided and why.

Here: finding the decision in a log, telling every rule's candidates and why each was or was not
taken, deciding again with other settings, and the screen all of it is shown on; and the curves the
settings draw (`curves`, `picture`). Records and settings in, values out; `picture` alone writes a
file. Not here: the rules (`slotd.policy`: what is told is asked of them, none is written a second
time), reading files (`slotd.logs`, `slotd.cli`).
"""
