"""Traffic to replay: its common form, readers of public traces, a generator of working days."""
