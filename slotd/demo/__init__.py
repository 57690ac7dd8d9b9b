"""`slotd demo`: two people with agent clients in front of slotd and a simulated engine.

`script` (what they do), `columns` (with what in front of the engine), `stopwatch` and `outcome`
(what it cost) are pure; `player` starts the processes and plays the script; `screen` prints.
"""
