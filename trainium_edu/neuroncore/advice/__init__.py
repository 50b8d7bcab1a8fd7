"""What should be improved in a program, and what it would be worth."""
