"""Reading what profilers write. Every reader gives the same record; a file it cannot read is one sentence."""
