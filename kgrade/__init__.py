"""Grade GPU-kernel work from a git queue, in the terminal, with evidence that can be believed."""

__version__ = "0.1.0"
