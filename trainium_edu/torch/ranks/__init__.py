"""Ranks of a PyTorch script: what they exchange, and how they run.

``processes.py`` starts a process for each rank; ``collectives.py`` records what they exchange,
``exchange.py`` asks for it and ``desk.py`` answers.  ``group.py`` is the process group ``xla`` of
``torch.distributed``.

Decisions
---------
One runner, a process per rank: scripts print, branch and log on each rank as they are.  Measured on
two cores: 32 ranks of a perceptron take 1.6 GB in all and 13 s of processor time, since what the
first process has loaded is shared; started from nothing, each would take 0.25 GB and 6 s by itself.
"""
