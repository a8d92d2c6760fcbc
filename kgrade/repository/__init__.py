"""Git as the queue: reading a commit, making one, and getting it to the others."""
