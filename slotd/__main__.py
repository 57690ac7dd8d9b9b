"""`python -m slotd` is `slotd`."""

from slotd.cli.main import main

if __name__ == "__main__":
    main()
