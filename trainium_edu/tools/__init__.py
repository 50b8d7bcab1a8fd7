"""The same data as files that other programs open.

``perfetto`` writes a timeline as Chrome trace JSON: ui.perfetto.dev and chrome://tracing show it.
``tensorboard`` writes a run's curves while it trains.
Left out so far: look-alikes of ``neuron-ls`` and ``neuron-top``.
Source: the Trace Event Format (``trace-event-format`` in ``specs.SOURCES``).

Read ``perfetto.py``.  No notebook needs it; in any of them, ``perfetto.write(run, "run.json")``.
"""

__all__ = ["perfetto", "tensorboard"]


def __getattr__(name):
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from trainium_edu import aside

    return aside.load(f"{__name__}.{name}")
