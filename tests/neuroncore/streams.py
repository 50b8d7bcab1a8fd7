"""Programs for the tests of time: recorded without values, by the real instruction set."""

import dataclasses

from hypothesis import strategies as st

from trainium_edu.neuroncore import NeuronCore, place
from trainium_edu.specs import TRN1, NkiValidationError

PARTS = slice(0, 128)


def stream(stages, columns=512, works=3, dtype="float32", looped=False):
    """Record a load-compute-store stream: `works` tensor_tensors on each tile."""
    core = NeuronCore(values=False)
    x = core.hbm((128, columns * stages), dtype, name="x")
    y = core.hbm((128, columns * stages), dtype, name="y")

    def stage(i):
        loaded = core.sbuf((128, columns), dtype, name="loaded")
        result = core.sbuf((128, columns), dtype, name="result")
        part = slice(i * columns, (i + 1) * columns)
        core.dma_copy(dst=loaded, src=x.sliced(PARTS, part))
        core.tensor_tensor(dst=result, data1=loaded, data2=loaded, op="add")
        for _ in range(works - 1):
            core.tensor_tensor(dst=result, data1=loaded, data2=result, op="add")
        core.dma_copy(dst=y.sliced(PARTS, part), src=result)

    if looped:
        with core.repeat(stages):
            stage(0)
    else:
        for i in range(stages):
            stage(i)
    return core.program


OPERATIONS = ("load", "store", "vector", "gpsimd", "scalar", "matmul", "copy", "touch", "move")
steps = st.lists(
    st.tuples(
        st.sampled_from(OPERATIONS), st.integers(0, 5), st.integers(0, 5), st.integers(0, 3),
        st.booleans(),
    ),
    min_size=1, max_size=40,
)  # fmt: skip


def random_program(drawn, stated=False):
    """Record drawn steps: tiles of few sites come and go, some keep a stated address."""
    core = NeuronCore(values=False)
    x = core.hbm((128, 1024), name="x")
    sbuf, psum = [], []

    def tile(where, which, fresh, columns=(16, 128, 512, 1024)):
        made = core.psum if where is psum else core.sbuf
        size = columns[which % len(columns)]
        if fresh or not where:
            address = 4096 * which if stated and which % 2 and where is sbuf else None
            where.append(made((128, size), address=address))
            return where[-1]
        return where[-1 - which % len(where)]

    for operation, a, b, c, fresh in drawn:
        source = tile(sbuf, a, False)
        target = tile(sbuf, b, fresh)
        n = min(source.shape[1], target.shape[1])
        low = 8 * c if 8 * c < n else 0
        data, out = source.sliced(PARTS, slice(low, n)), target.sliced(PARTS, slice(low, n))
        match operation:
            case "load":
                core.dma_copy(dst=out, src=x.sliced(PARTS, slice(low, n)))
            case "store":
                core.dma_copy(dst=x.sliced(PARTS, slice(low, n)), src=data)
            case "vector":
                core.tensor_tensor(dst=out, data1=data, data2=data, op="add")
            case "gpsimd":
                core.tensor_copy(dst=out, src=data, engine="gpsimd")
            case "scalar":
                core.activation(dst=out, op="exp", data=data)
            case "move":
                core.tensor_copy(dst=out, src=data)
            case "touch":
                core.tensor_scalar(dst=out, data=out, op0="multiply", operand0=2.0)
            case "matmul" | "copy":
                bank = tile(psum, c, fresh, (16, 128, 512))
                m = min(bank.shape[1], n - low)
                if operation == "matmul":
                    core.nc_matmul(
                        dst=bank.sliced(slice(0, 16), slice(0, m)),
                        stationary=source.sliced(PARTS, slice(0, 16)),
                        moving=data.sliced(PARTS, slice(0, m)),
                    )
                else:
                    engine = "scalar" if a % 2 else "vector"
                    core.tensor_scalar(
                        dst=out.sliced(PARTS, slice(0, m)), data=bank.sliced(PARTS, slice(0, m)),
                        op0="multiply", operand0=2.0, engine=engine,
                    )  # fmt: skip
    return core.program


def place_tightly(program, buffers=None):
    """Place into the least SBUF that will do, so that tiles of different sites share bytes."""
    found = None
    for kib in (64, 32, 24, 16, 12, 8, 6, 4, 2):
        bytes_per_partition = dataclasses.replace(TRN1.sbuf.bytes_per_partition, value=kib * 1024)
        spec = TRN1.replace(sbuf=TRN1.sbuf.replace(bytes_per_partition=bytes_per_partition))
        try:
            found = place(program, spec, buffers=buffers), kib * 1024
        except NkiValidationError:
            break
    return found


programs = st.builds(random_program, steps, st.booleans())
