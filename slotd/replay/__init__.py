"""Replaying traffic in virtual time under one or several policies, and what comes of it.

`drive` runs one policy, `baselines` and `clairvoyant` are policies to compare with, `outcome` sums
a run up, `tune` searches settings, `report` measures a fixed set of traffics.
"""
