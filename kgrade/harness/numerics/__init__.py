"""Inputs, errors and verdicts: everything that touches numbers on the trusted side of the wall."""
