"""The pieces that the screens are put together from."""
