"""The instruction lists of the three published Mamba kernels, recorded by hand.

Written from the description of each step in the tutorial (``nki-mamba-tutorial``): which tiles are
loaded in which loop, and which instruction follows which.
"""

from trainium_edu.neuroncore import NeuronCore

STATES = 16


def record(version, tiles=2, length=512, piece=512, data=None, seed=0):
    """Record v1, v2 or v3 for 128 * `tiles` channels; `data` a dict of five arrays, or None."""
    core = NeuronCore(values=data is not None, seed=seed)
    shapes = {"delta": (128 * tiles, length), "u": (128 * tiles, length),
              "A": (128 * tiles, STATES), "B": (STATES, length), "C": (STATES, length)}  # fmt: skip
    hbm = {n: core.hbm(data[n] if data else s, name=n) for n, s in shapes.items()}
    out = core.hbm(shapes["delta"], name="out")
    width = piece if version == 3 else length
    kernel = _Steps(core, width)
    for t in range(tiles):
        rows = slice(128 * t, 128 * t + 128)
        total = core.sbuf((128, length), name="total")
        core.memset(dst=total, value=0.0)
        if version > 1:
            delta = kernel.load(hbm["delta"].sliced(rows))
            u = kernel.load(hbm["u"].sliced(rows))
        for s in range(STATES):
            if version == 1:
                delta = kernel.load(hbm["delta"].sliced(rows))
            a = kernel.load(hbm["A"].sliced(rows, slice(s, s + 1)))
            last = 0.0
            if version == 3:
                last = core.sbuf((128, 1), name="last")
                core.memset(dst=last, value=0.0)
            for start in range(0, length, width):
                part = slice(start, start + width)
                if version == 1:
                    u = kernel.load(hbm["u"].sliced(rows))
                kernel.step(
                    delta.sliced(slice(None), part), u.sliced(slice(None), part), a,
                    hbm["B"].sliced(slice(s, s + 1), part), hbm["C"].sliced(slice(s, s + 1), part),
                    total.sliced(slice(None), part), last,
                )  # fmt: skip
        core.dma_copy(dst=out.sliced(rows), src=total)
    return core, out


class _Steps:
    def __init__(self, core, width):
        self.core, self.width = core, width
        self.ones = core.sbuf((1, 128), name="ones")
        core.memset(dst=self.ones, value=1.0)

    def load(self, source):
        tile = self.core.sbuf(source.shape)
        self.core.dma_copy(dst=tile, src=source)
        return tile

    def on_all_partitions(self, row):
        wide = self.core.psum((128, self.width))
        for start in range(0, self.width, 512):
            part = slice(start, min(start + 512, self.width))
            self.core.nc_matmul(
                dst=wide.sliced(slice(None), part),
                stationary=self.ones,
                moving=row.sliced(slice(None), part),
            )
        return wide

    def product(self, one, two):
        tile = self.core.sbuf((128, self.width))
        self.core.tensor_tensor(dst=tile, data1=one, data2=two, op="multiply")
        return tile

    def step(self, delta, u, a, b_row, c_row, total, last):
        core, shape = self.core, (128, self.width)
        decay, scanned = core.sbuf(shape), core.sbuf(shape)
        core.activation(dst=decay, op="exp", data=delta, scale=a)
        b = self.load(b_row)
        drive = self.product(self.product(delta, u), self.on_all_partitions(b))
        core.tensor_tensor_scan(
            dst=scanned, data0=decay, data1=drive, initial=last, op0="multiply", op1="add"
        )
        if last != 0.0:
            end = scanned.sliced(slice(None), slice(self.width - 1, self.width))
            core.tensor_copy(dst=last, src=end)
        c = self.load(c_row)
        core.tensor_tensor(
            dst=total, data1=total, data2=self.product(scanned, self.on_all_partitions(c)), op="add"
        )
