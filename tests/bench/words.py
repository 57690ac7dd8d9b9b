"""What REPORT.md says beside its figures.

Here: its sentences. Not here: the figures and how they are measured (`report`).
"""

from __future__ import annotations

from typing import Final

INTRODUCTION: Final = """\
# What the policies reuse

Written by `{command}`, all of it; every figure is from that one run. The traffic goes through the
real core against the simulated engine in virtual time, at the published speeds.

- **The public trace** is one hour of a chat service for many engines. A load is the share of its
  conversations that is kept; each thinning keeps others. Requests are sent by their times, and
  never before the reply they continue has ended. Only one half of the conversations is measured:
  the other half is what the adaptive policy's prior was fitted to, and everything that was tried
  was compared on (`tests/bench/prior.py`).
- **The agent day** is `slotd workload agents`: 8 hours of two people, in a closed loop. Nothing was
  fitted to it.
- **serve**, **serve-groups**: the serve process's own choice of a slot, slotd deciding nothing.
  **lru**, **llama.cpp**, **value** (retention without protection), **retention** (the default):
  see `slotd/replay/policies.py`. Those that are not compared with each other are run on the first
  few thinnings only: their rows say on how many.
- **adaptive** begins with nothing learned in every run. **adaptive, second day** has learned on
  other traffic of the same kind before (other conversations of the trace at the same load; another
  generated day), through what is kept over a restart. **adaptive, informed** has watched a large
  traffic of the same kind (all conversations of the trace but the thinning's own; eight other
  days): what the policy could do if it had nothing left to learn.
- **clairvoyant** knows the future and is greedy: it gives up what saves least a second until its
  next use.
- **Room for everything**: what every prompt shares with any text before it; nothing can reuse more.
  **The bound** is the most that holding histories can save within conversations, in so many places
  and for the clairvoyant run's times: the exact optimum of a problem that grants more than there is
  (`slotd/replay/bound.py`). Running requests take no room in it and every place has every
  checkpoint, so where the slots are busy it is far out of reach. Reuse between conversations is the
  one thing it leaves out; a policy could come out above it by that alone.
- *replaced*, *never parked*, *rewritten*: tokens read again that an earlier history held, by what
  became of it (`slotd/replay/outcome.py`).
- Confidence intervals are over the thinnings or days (95%, paired, Student's t).
"""

TRIED: Final = """\
## What was tried, and what is in the way

Tried with a faster model of the engine that was checked against the simulated one; what is in the
policy now was chosen on the half of the trace that is not measured here (early comparisons of
what to know of a conversation ran on other thinnings of the whole trace):

- **What to rank by**, with the same hazards: the tokens times the chance to come back at all
  (kept); the best rate of returns a second held (Gittins' index); the chance within 1, 2, 5 or 10
  minutes; the hazard of the moment; powers of the tokens below and above 1. The kept one was never
  worse beyond noise, and is the simplest.
- **What to know of a conversation**: turns and the tokens brought in by the last prompt carry most,
  pauses some; the length of the history and of the reply, finer classes of age, and turns by age
  carry nothing beyond noise.
- **How to begin**: a prior that falls with age alike for all, as before; the fitted prior at
  several weights; the published policy until one, five or ten returns. The fitted prior gained at
  every load. With it what was learned on other traffic before made no difference beyond noise,
  and it made none when the published policy gave way.

In the way is what cannot be known: few first turns are followed by a second, and lengths and times
say little about which. The row *adaptive, informed* is the measure of it: the same policy with
nearly the truth about its classes. What is between it and *clairvoyant* is not to be had by this
kind of prediction.
"""
