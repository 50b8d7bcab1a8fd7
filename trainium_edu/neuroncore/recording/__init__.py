"""What was recorded, in order, and on which bytes: memories, views, programs, the core."""
