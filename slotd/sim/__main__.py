"""`python -m slotd.sim --serve ...`: the simulated engine as a process."""

import sys

from slotd.sim.process import main

if __name__ == "__main__":
    sys.exit(main())
