"""The stage and the pages that are played on it."""
