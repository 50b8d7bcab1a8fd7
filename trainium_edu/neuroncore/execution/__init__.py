"""How the same values are computed faster: deferred sums, and helper threads for products."""
