"""Failures that real tools print: how each is made, and what they printed when they were recorded."""
