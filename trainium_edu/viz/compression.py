"""What BF16 numbers shrink to, measured, and what that would do for DMA, *assumed*."""

from collections.abc import Mapping

import numpy as np

from trainium_edu.numerics.compression import Sizes, effective_bytes_per_s
from trainium_edu.specs import TRN1, Record
from trainium_edu.specs.signatures import checked
from trainium_edu.viz.style import COLOURS, figure, ink

__all__ = ["describe_sizes", "plot_sizes"]

_FIELDS = {"sign": "red", "exponent": "blue", "mantissa": "green"}  # as the bit editor has them
_WHOLE = 16


def _rows(sizes):
    if len(sizes) == 0:
        raise ValueError("sizes is empty; a picture needs one array or more")
    return list(sizes.values())


@checked
def plot_sizes(sizes: Mapping[str, Sizes], *, spec: Record = TRN1):
    """Plot each array's entropy by fields, what coders make of it, and DMA's rate with it.

    Parameters
    ----------
    sizes : dict of str to numerics.compression.Sizes
        By the array's name, from the top.
    spec : Record
        Whose documented rate is divided.

    Returns
    -------
    Figure

    Examples
    --------
    >>> from trainium_edu.numerics.compression import measure
    >>> ones = measure(np.full(100, 0x3F80, np.uint16))
    >>> [ax.get_xlabel() for ax in plot_sizes({"ones": ones}).axes]
    ['bits per number', 'GB/s of one NeuronCore']
    """
    rows, places = _rows(sizes), np.arange(len(sizes))
    tall = 0.36 * len(rows)
    fig = figure(5.8, 2 * tall + 2.75, margins=(1.0, 0.2, 0.85, 0.35))
    bits, rate = fig.subplots(2, 1, sharey=True, gridspec_kw={"hspace": 1.55 / tall})
    start = np.zeros(len(rows))
    for field, colour in _FIELDS.items():
        wide = np.array([getattr(row.fields, field) for row in rows])
        bits.barh(places, wide, 0.6, left=start, color=COLOURS[colour], label=f"{field}, at least")
        start += wide
    bits.plot([row.bits for row in rows], places, "D", color=ink("ink"), markersize=6,
              label="this code")  # fmt: skip
    bits.plot([row.bzip2_bits for row in rows], places, "o", color=ink("ink"), markersize=7,
              markerfacecolor="none", label="bzip2")  # fmt: skip
    bits.axvline(_WHOLE, color=ink("muted"), linestyle=(0, (4, 3)), label="as it is")
    bits.set(xlim=(0, 18), xticks=range(0, 17, 4))
    bits.set(xlabel="bits per number", title="Measured: bits without loss")
    bits.set_yticks(places, list(sizes))
    bits.invert_yaxis()
    plain = float(spec.dma.bytes_per_s) / 1e9
    sped = [effective_bytes_per_s(row.bits, spec) / 1e9 for row in rows]
    rate.barh(places, sped, 0.6, color=COLOURS["sky"], alpha=0.55, label="if compression kept up")
    rate.axvline(plain, color=ink("muted"), linestyle=(0, (4, 3)), label="documented")
    for y, value in zip(places, sped, strict=True):
        rate.text(value + 6, y, f"{value:.0f}", va="center", fontsize=9)
    rate.set(xlim=(0, 1.18 * max(plain, *sped)), xlabel="GB/s of one NeuronCore",
             title="Assumed: DMA's rate with this code")  # fmt: skip
    for ax, columns in ((bits, 3), (rate, 2)):
        ax.grid(axis="y", visible=False)
        ax.legend(ncols=columns, loc="upper left", borderaxespad=0, handlelength=1.4,
                  bbox_to_anchor=(0, -0.55 / tall), columnspacing=1.2)  # fmt: skip
    return fig


@checked
def describe_sizes(sizes: Mapping[str, Sizes], *, spec: Record = TRN1) -> str:
    """Say the same numbers in a table, for readers and for screen readers.

    Examples
    --------
    >>> from trainium_edu.numerics.compression import measure
    >>> describe_sizes({"ones": measure(np.full(100, 0x3F80, np.uint16))}).splitlines()[2]
    'ones              0.0     0.0      0.0      8.7     3.4       499'
    """
    lines = [
        f"{'bits per number':15}{'at least, for':^24}{'':11}{'':8}{'GB/s,':>8}",
        f"{'':13}{'sign':>8}{'exp.':>8}{'mant.':>9}{'code':>9}{'bzip2':>8}{'assumed':>10}",
    ]
    for name, row in zip(sizes, _rows(sizes), strict=True):
        f, rate = row.fields, effective_bytes_per_s(row.bits, spec) / 1e9
        lines.append(f"{name:13}{f.sign:8.1f}{f.exponent:8.1f}{f.mantissa:9.1f}{row.bits:9.1f}"
                     f"{row.bzip2_bits:8.1f}{rate:10.0f}")  # fmt: skip
    return "\n".join(lines)
