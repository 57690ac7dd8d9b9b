"""The shell around the pure core: processes, pipes, signals, time.

Here: everything that does I/O while an engine runs. Not here: what a line means or what is decided
(`protocol`, `slotd.policy`, `slotd.core`). `launch` and `signals` are imported before the engine is
started and so use little; all else is imported while the engine loads its model.
"""
