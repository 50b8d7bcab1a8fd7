"""Ranks of a PyTorch script: what they exchange, and how they run.

*Apart* (``apart.py``) each rank is a process; *together* (``together.py``) one process holds all
ranks' values with an axis of ranks.  Both record the same calls (``collectives.py``).  ``group.py``
is the process group ``xla`` of ``torch.distributed``.
"""
