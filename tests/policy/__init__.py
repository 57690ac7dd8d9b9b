"""Tests of the policy, one a rule, over tables written as lengths."""
