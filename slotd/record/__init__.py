"""The record of requests: enough to replay them under another policy, and no token or text.

`lines` (the format), `recorder` (from slotd's events to entries) and `reader` make no files;
`files` writes rotated ones.
"""
