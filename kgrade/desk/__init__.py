"""The work of one evaluator, without a screen: next, open, score, save, skip, undo, sync."""
