"""Where everything is, when, and why: durations, placement, hazards, schedule, bands, causes."""
