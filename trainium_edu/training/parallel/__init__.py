"""Many ranks, one model: who sums gradients, over which links, and how long that takes.

Two ways to the same numbers.  *Together*: one program is recorded once, and every value has a
leading axis of replicas (``trainer``, lessons).  *In lockstep*: every rank runs a script of its
own, up to each cut of its graph, where they meet (``launch``, ``torchrun``); equal graphs then run
as one, over the values of all.  A test holds the two equal, bit for bit.

Read ``collectives.py`` first (what a sum over ranks gives and takes), then ``lockstep.py``,
``step.py`` (one clock for engines and links) and ``zero.py``.
"""
