"""What was asked for, in order, and on which bytes: memories, views, programs, the core."""
