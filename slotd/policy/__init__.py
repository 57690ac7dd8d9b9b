"""The placement policy: every rule of POLICY.md as a function over numbers.

Tokens are compared once, in `survey`; everything after it sees lengths. No I/O and no clock: the
time is an argument. What a decision does to a line is not here (see `slotd.core`).
"""
