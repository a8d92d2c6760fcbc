"""What timing samples say, and how surely."""
