"""The second, plain implementation of the placement policy and the proof that both agree.

Here live the reference decisions, the random slot tables and the equivalence test. Nothing here
is used outside the tests, and `plain_policy` must import nothing of the project.
"""
