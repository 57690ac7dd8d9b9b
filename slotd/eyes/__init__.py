"""Looking at a running slotd: views of the one status object its control socket answers with.

Here: asking for it, and what is made of it - text, a full screen, metrics. Every view is a function
of that object, so that asking costs slotd the same whatever is shown. Not here: what is in it
(`slotd.daemon`), and anything that changes slotd: it is looked at, never told.
"""
