"""What slotd is set to, and where each value came from.

Here: the table of options, the file and its trust, and the values in force. Standard library, attrs
and the policy's settings only, because all of this runs before the engine is started. Not here:
command-line parsing (`slotd.cli`) and what the settings do.
"""
