"""The adaptive policy: which conversations come back is learned from the traffic itself.

Pure, like the rest of the policy: what is learned is numbers, and time comes with the table.
"""
