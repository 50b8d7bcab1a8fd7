"""Inside one NeuronCore: what an instruction does, costs, and waits for.

Here today: the Tensor Engine's ``systolic_array``, one cycle at a time.
Left out so far: the other engines, SBUF and PSUM as bytes, programs and their time.
Source: the NKI architecture guide (``nki-trn1-arch`` in ``specs.SOURCES``).

Read ``systolic_array/__init__.py`` first.  Used by the notebook ``03_systolic_array``.
"""

__all__ = ["systolic_array"]


def __getattr__(name):  # the compiled loops load with the first name that needs them
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import importlib

    return importlib.import_module(f"{__name__}.{name}")
