"""What leads read: agreement between evaluators, and how it moves."""
