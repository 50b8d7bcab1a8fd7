"""One algorithm a file: each turns a topology and a collective into a `Schedule`.

Read ``ring.py`` first; ``kangaring.py``, ``mesh.py`` and ``rdh.py`` follow AWS's documented step
structures; ``by_dimension.py``, ``hierarchical.py`` and ``exchange.py`` complete the set.
"""

__all__: list[str] = []
