"""The simulated engine and the simulated serve process, so that slotd runs without a GPU.

`engine` (with its parts) and `serve` are pure; `world` joins them in virtual time; `process` is the
engine as a real process: `python -m slotd.sim --serve`.
"""
