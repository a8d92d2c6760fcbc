"""How evidence comes to be: what runs behind the wall, what may cross it, and how the result is judged."""
