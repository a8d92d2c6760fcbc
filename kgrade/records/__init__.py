"""What is written down, and nothing else: typed structs, their codecs and their arithmetic."""
