"""Every limit that the reference states, by one case each.  Judge: the numbers of the reference.

A case is a kernel that passes the limit by one step; it has to raise, and to say what the limit is.
"""

import ml_dtypes
import numpy as np

import trainium_edu.nki as nki
import trainium_edu.nki.isa as nisa
import trainium_edu.nki.language as nl
from tests.for_each import for_each, raises
from tests.nki.cases import refused
from trainium_edu.specs import NkiValidationError


def tile(shape, dtype=nl.float32, buffer=nl.sbuf, **more):
    """Return a tile of zeros."""
    made = nl.ndarray(shape, dtype, buffer=buffer, **more)
    nisa.memset(dst=made, value=0)
    return made


def _matmul(dst=(64, 64), stationary=(64, 64), moving=(64, 64), dtype=nl.bfloat16):
    out = nl.ndarray(dst, nl.float32, buffer=nl.psum)
    nisa.nc_matmul(dst=out, stationary=tile(stationary, dtype), moving=tile(moving, dtype))


def _pair(function, *args, **kwargs):
    return lambda: function(*args, **kwargs)


LIMITS = {
    # partitions, capacity, shapes
    "256 partitions": (
        lambda: nl.ndarray((256, 512), nl.float32), "partition dimension 256 exceeds maximum 128"
    ),
    "SBUF partition too small": (lambda: nl.ndarray((128, 49153), nl.float32), "196608"),
    "PSUM partition too small": (lambda: nl.ndarray((128, 4097), nl.float32, nl.psum), "16384"),
    "a size of 0": (lambda: nl.ndarray((128, 0), nl.float32), "below 1"),
    "a negative size": (lambda: nl.ndarray((128, -4), nl.float32), "below 1"),
    "one dimension on chip": (lambda: nl.ndarray((128,), nl.float32), "partition, free"),
    "HBM of 16 GiB": (lambda: nl.ndarray((2**18, 2**15), nl.float32, nl.hbm), "16 GiB|HBM"),
    "an address past the end": (
        lambda: nl.ndarray((128, 8), nl.float32, address=(0, 196608)), "196608"
    ),
    "start partition 16": (lambda: nl.ndarray((8, 8), nl.float32, address=(16, 0)), "partition 16"),
    "start partition 32 for 64": (
        lambda: nl.ndarray((64, 8), nl.float32, address=(32, 0)), "partition 32"
    ),
    "a PSUM address inside a bank": (
        lambda: nl.ndarray((128, 8), nl.float32, nl.psum, address=(0, 1024)), "bank"
    ),
    "an access that starts on partition 5": (
        lambda: nisa.tensor_copy(dst=tile((8, 8)), src=tile((64, 8))[5:13]), "partition 5"
    ),
    # nc_matmul
    "contractions that differ": (_pair(_matmul, stationary=(32, 64)), "partitions"),
    "dst of another shape": (_pair(_matmul, dst=(64, 32)), "dst"),
    "integers in a matmul": (_pair(_matmul, dtype=nl.int32), "int32"),
    "operands in PSUM": (
        lambda: nisa.nc_matmul(
            dst=nl.ndarray((8, 8), nl.float32, buffer=nl.psum),
            stationary=tile((8, 8), nl.float32, nl.psum), moving=tile((8, 8)),
        ), "PSUM|SBUF",
    ),
    "a result over two banks": (
        lambda: nisa.nc_matmul(
            dst=nl.ndarray((64, 1024), nl.float32, buffer=nl.psum)[:, 256:768],
            stationary=tile((64, 64)), moving=tile((64, 512)),
        ), "bank",
    ),
    # engines and memories
    "GpSimd on PSUM": (
        lambda: nisa.tensor_copy(
            dst=tile((8, 8), buffer=nl.psum), src=tile((8, 8)), engine=nisa.engine.gpsimd
        ), "PSUM",
    ),
    "DMA from PSUM": (
        lambda: nisa.dma_copy(
            dst=nl.ndarray((8, 8), nl.float32, nl.hbm), src=tile((8, 8), buffer=nl.psum)
        ), "PSUM",
    ),
    "an engine that cannot": (
        lambda: nisa.tensor_tensor(
            dst=tile((8, 8)), data1=tile((8, 8)), data2=tile((8, 8)), op=nl.add,
            engine=nisa.engine.tensor,
        ), "Tensor Engine",
    ),
    # shapes that do not match
    "a copy of another size": (
        lambda: nisa.tensor_copy(dst=tile((8, 8)), src=tile((8, 4))), "same"
    ),
    "a transfer of another size": (
        lambda: nisa.dma_copy(dst=tile((8, 8)), src=nl.ndarray((8, 4), nl.float32, nl.hbm)), "8"
    ),
    "a scalar bias": (
        lambda: nisa.activation(dst=tile((8, 8)), op=nl.exp, data=tile((8, 8)), bias=1.0),
        "v3|vector|bias",
    ),
    # dtypes
    "a float into an integer tile": (
        lambda: nisa.memset(dst=nl.ndarray((8, 8), nl.int32), value=0.5), "0.5"
    ),
    "bits of floats": (
        lambda: nisa.tensor_tensor(
            dst=tile((8, 8)), data1=tile((8, 8)), data2=tile((8, 8)), op=nl.bitwise_and
        ), "integer|float32",
    ),
    "float8_e4m3fn": (lambda: nl.ndarray((8, 8), nl.float8_e4m3fn), "NeuronCore-v4"),
    "float8_e8m0fnu": (lambda: nl.ndarray((8, 8), nl.float8_e8m0fnu), "NeuronCore-v4"),
    "packed MX data": (lambda: nl.ndarray((8, 8), nl.float4_e2m1fn_x4), "NeuronCore-v4"),
    "a transpose of 33 by Vector": (
        lambda: nisa.nc_transpose(dst=tile((33, 33)), data=tile((33, 33))), "32",
    ),
    # registers
    "two numbers into a register": (
        lambda: nisa.register_load(nisa.register_alloc(), tile((1, 2), nl.int32)), "one number"
    ),
    "an empty register read": (
        lambda: nisa.register_store(tile((1, 1), nl.int32), nisa.register_alloc()), "never loaded"
    ),
    "a register over 32 bits": (lambda: nisa.register_alloc(2**32), "32 bits"),
    # transfers in the language
    "a load of 129 rows": (
        lambda: nl.load(nl.ndarray((129, 8), nl.float32, nl.hbm)), "exceeds maximum 128"
    ),
    "a load of what is on chip": (lambda: nl.load(tile((8, 8))), "in HBM"),
    "a store into a tile": (lambda: nl.store(tile((8, 8)), tile((8, 8))), "in HBM"),
    "an identity of 129": (lambda: nl.shared_identity_matrix(n=129), "128"),
    "a constant of 64 bits": (lambda: nl.shared_constant(np.array([2**40])), "ends at 2147483647"),
    "a constant without elements": (lambda: nl.shared_constant(np.zeros((0, 2))), "below 1"),
    "a half in an integer tile": (lambda: nl.full((8, 8), 2.5, nl.int32), "write an integer"),
    "300 in a byte": (lambda: nl.full((8, 8), 300, nl.uint8), "0 to 255"),
    "a mean of no values": (
        lambda: nl.rms_norm(tile((8, 8)), tile((8, 8)), axis=1, n=0), "n is 0"
    ),
    "a choice from HBM": (
        lambda: nl.where(tile((8, 8)), nl.ndarray((8, 8), nl.float32, nl.hbm), 0.0), "load it into"
    ),
    "tiles of two ranks": (lambda: nl.add(tile((8, 8)), tile((8, 8, 1))), "number of dimensions"),
    "a broadcast to 129 partitions": (
        lambda: nl.broadcast_to(tile((1, 8)), (129, 8)), "exceeds maximum 128"
    ),
}  # fmt: skip


@for_each("name", LIMITS)
def test_a_limit_is_refused_by_one_clear_sentence(name):
    refused(*LIMITS[name])


TYPES = {
    "a shuffle of 33": lambda: nisa.nc_stream_shuffle(
        dst=tile((32, 8)), src=tile((32, 8)), shuffle_mask=list(range(33))
    ),
    "a buffer by name": lambda: nl.ndarray((8, 8), nl.float32, buffer="sbuf"),
    "no engine's number": lambda: nisa.tensor_copy(dst=tile((8, 8)), src=tile((8, 8)), engine=9),
    "an unknown keyword": lambda: nisa.memset(dst=tile((8, 8)), value=0, fast=True),
    "a missing operand": lambda: nisa.tensor_copy(dst=tile((8, 8))),
    "a shape of fractions": lambda: nl.ndarray((8, 1.5), nl.float32),
    "a shape of truth": lambda: nl.ndarray((8, "8"), nl.float32),
    "an address that is a number": lambda: nl.ndarray((8, 8), nl.float32, address=4),
    "an operand that is a list": lambda: nisa.tensor_copy(dst=tile((8, 8)), src=[1, 2]),
    "a dtype that is none": lambda: nl.ndarray((8, 8), "float99"),
    "a register that is none": lambda: nisa.register_move(3, 4),
    "a register of a fraction": lambda: nisa.register_alloc(1.5),
    "a shape of booleans": lambda: nl.ndarray((True, 2), nl.float32),
    "a shape that is a tensor": lambda: nl.ndarray(tile((2, 2)), nl.float32),
    "a name that is a number": lambda: nl.ndarray((2, 2), nl.float32, name=5),
    "an address of booleans": lambda: nl.ndarray((2, 2), nl.float32, address=(False, True)),
    "an axis that is a fraction": lambda: nl.sum(tile((8, 8)), 1.0),
    "an axis that is a truth value": lambda: nl.max(tile((8, 8)), True),
    "no axis": lambda: nl.mean(tile((8, 8)), None),
    "a host array": lambda: nl.add(tile((8, 8)), np.ones((8, 8), np.float32)),
    "a quotient of text": lambda: nl.divide(tile((8, 8)), "2"),
    "a complex number": lambda: nl.multiply(tile((8, 8)), 1j),
    "a remainder of text": lambda: nl.mod(tile((8, 8)), "2"),
    "an index that is a quotient": lambda: tile((8, 8))[:, 0 : 8 / 2],
    "the negative of a number": lambda: nl.negative(1.0),
    "zeros like a number": lambda: nl.zeros_like(3),
    "a seed that is a number": lambda: nl.random_seed(42),
    "a broadcast to a number": lambda: nl.broadcast_to(tile((8, 1)), 8),
    "a program axis by name": lambda: nl.program_id("x"),
    "programs by name": lambda: nl.num_programs("x"),
    "a print without text": lambda: nl.device_print(3, tile((8, 8))),
    "a transpose that is text": lambda: nl.matmul(tile((8, 8)), tile((8, 8)), "no"),
    "a tile of text": lambda: nl.add(tile((8, 8)), "one"),
    "numbers alone": lambda: nl.add(1, 2),
    "a store of a number": lambda: nl.store(nl.ndarray((8, 8), nl.float32, nl.hbm), 1.0),
}


@for_each("name", TYPES)
def test_what_is_of_the_wrong_kind_is_a_type_error(name):
    raises(TypeError, "", nki.simulate(TYPES[name]))


def test_too_much_in_sbuf_at_once_raises_with_what_was_there():
    def kernel(x):
        tiles = [nl.load(x) for _ in range(4)]  # 4 x 64 KiB per partition
        out = nl.ndarray(x.shape, x.dtype, buffer=nl.shared_hbm)
        for held in tiles:
            nl.store(out, held)
        return out

    data = np.zeros((128, 16384), np.float32)
    assert nki.simulate(kernel)(data).shape == data.shape  # values need no place
    caught = raises(NkiValidationError, "196608", nki.run, kernel, data)
    assert "float32[128, 16384]" in str(caught)
    assert "spilling" in str(caught)


def test_what_was_never_written_reads_nan_and_4():
    def kernel():
        floats, whole = (nl.ndarray((2, 2), d) for d in (nl.bfloat16, nl.int32))
        outs = []
        for fresh in (floats, whole):
            out = nl.ndarray((2, 2), fresh.dtype, buffer=nl.shared_hbm)
            nl.store(out, fresh)
            outs.append(out)
        return (*outs, nl.ndarray((2, 2), nl.float32, buffer=nl.shared_hbm))

    floats, whole, never = nki.simulate(kernel)()
    assert floats.dtype == ml_dtypes.bfloat16
    assert np.isnan(floats.astype(np.float32)).all()
    assert (whole == 4).all()
    assert np.isnan(never).all()
    assert {w.kind for w in nki.run(kernel).advice} >= {"uninitialised"}


def test_two_tiles_at_one_address_overwrite_each_other():
    def kernel():
        first = nl.ndarray((32, 8), nl.float32, address=(0, 0))
        second = nl.ndarray((32, 8), nl.float32, address=(0, 16))
        nisa.memset(dst=first, value=1.0)
        nisa.memset(dst=second, value=2.0)
        out = nl.ndarray((32, 8), nl.float32, buffer=nl.shared_hbm)
        nl.store(out, first)
        return out

    assert np.array_equal(nki.simulate(kernel)()[0], [1, 1, 1, 1, 2, 2, 2, 2])
