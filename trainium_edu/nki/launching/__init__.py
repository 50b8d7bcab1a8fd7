"""How one call becomes programs, and their end an answer."""
