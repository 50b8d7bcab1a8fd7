"""How the same values are had faster: sums put off, and helper threads for products."""
