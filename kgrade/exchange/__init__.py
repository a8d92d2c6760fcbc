"""Other people's formats: what leaves a queue, and what comes into one."""
