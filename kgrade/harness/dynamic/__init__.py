"""Tests that settle findings by running the submission behind the wall, and findings that only they can make."""

from kgrade.harness.dynamic.examination import examine, settle, unexamined

__all__ = ["examine", "settle", "unexamined"]
