"""How a submission is called: one module for each interface."""
