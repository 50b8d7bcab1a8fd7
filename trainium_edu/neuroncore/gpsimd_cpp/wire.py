"""One call of an operator as bytes that Python and the operator's process share.

The twin of ``cpp/include/neuron_edu/call.h``; a test compares the two.
"""

import ctypes
from ctypes import c_char, c_double, c_int32, c_int64

__all__ = ["DTYPES", "OUT", "Call", "Counts", "Status", "TensorSlot"]

MAX_DIMS, MAX_ARGUMENTS, MAX_PROCESSORS, MAX_SITES, OUT, MAX_HOT = 8, 16, 8, 32, 255, 16
MAX_SAMPLES, MAX_FRAMES = 16, 24

#: NumPy's (or ml_dtypes') names, in the order of ``c10::ScalarType``
DTYPES = ("float32", "bfloat16", "float16", "int32", "int8", "int16", "uint8")


class Status:
    """The ways in which a call ends."""

    OK, REFUSED, SIGNALLED, THREW, SHAPE, NO_DST, RUNNING = range(7)


def _fields(kind, names):
    return [(name, kind) for name in names.split()]


class TensorSlot(ctypes.Structure):
    """The place of one tensor."""

    _fields_ = (
        *_fields(c_int32, "dtype dims"), ("sizes", c_int64 * MAX_DIMS),
        *_fields(c_int64, "offset touched"),
    )  # fmt: skip


class _Argument(ctypes.Structure):
    _fields_ = (*_fields(c_int32, "kind pad"), ("value", c_double), ("tensor", TensorSlot))


class Counts(ctypes.Structure):
    """The counts of one processor."""

    _fields_ = _fields(
        c_int64,
        "elements streamed refills copies copied_bytes bulks bulk_bytes library_elements "
        "library_curves blocks stack_bytes tcm_bytes",
    )


class _Site(ctypes.Structure):
    _fields_ = (*_fields(c_int32, "line file"),
                *_fields(c_int64, "elements streamed copies copied_bytes"))  # fmt: skip


class _Hot(ctypes.Structure):
    _fields_ = _fields(c_int64, "pc times")


class _Processor(ctypes.Structure):
    _fields_ = (
        ("counts", Counts), ("hot", _Hot * MAX_HOT), *_fields(c_int32, "sites ran"),
        ("site", _Site * MAX_SITES),
        *_fields(c_int32, "read_line write_line read_file write_file"),
    )  # fmt: skip


class Call(ctypes.Structure):
    """The whole call; arrays follow it."""

    _fields_ = (
        *_fields(c_int32, "entry arguments multicore processors"),
        *_fields(c_int64, "cpu_seconds memory_bytes stack_bytes"),
        ("argument", _Argument * MAX_ARGUMENTS), ("out", TensorSlot), ("watch_element", c_int64),
        *_fields(c_int32, "watch_tensor status signal processor line tcm_failed"),
        *_fields(c_int64, "last_pc made_pc"), *_fields(c_int32, "samples ran_ms"),
        ("frames", c_int64 * MAX_FRAMES * MAX_SAMPLES), ("message", c_char * 1024),
        ("file", c_char * 512),
        *_fields(c_int32, "names_end warnings_end"),
        ("names", c_char * 4096), ("warnings", c_char * 4096),
        ("of", _Processor * MAX_PROCESSORS),
    )  # fmt: skip
