"""Six pictures from a cluster to one multiply-accumulate, for readers without a kernel."""

from collections.abc import Sequence

from matplotlib.collections import PatchCollection
from matplotlib.figure import Figure
from matplotlib.patches import Circle, ConnectionPatch, FancyBboxPatch, Rectangle

from trainium_edu.specs.ladder import Rung
from trainium_edu.specs.signatures import checked
from trainium_edu.viz import style

__all__ = ["plot_zoom"]

_SHOWN = {  # two figures under each picture
    "ultracluster": ("size, over", "that makes"),
    "instance": ("peak, BF16", "memory on the chips"),
    "chip": ("peak, BF16", "memory (HBM)"),
    "neuroncore": ("Tensor Engine clock", "SBUF, the working memory"),
    "tensor_engine": ("size", "peak, BF16"),
    "element": ("work of one beat", "length of a beat"),
}


@checked
def plot_zoom(rungs: Sequence[Rung]) -> Figure:
    """Draw one panel per rung, with a frame that says where the next panel looks.

    Parameters
    ----------
    rungs : sequence of specs.ladder.Rung

    Returns
    -------
    Figure, 1080 by 640 CSS pixels
    """
    fig = style.figure(10.8, 6.4)
    axes = [fig.add_subplot(2, 3, n + 1) for n in range(len(rungs))]
    frames = []
    for n, (ax, rung) in enumerate(zip(axes, rungs, strict=True)):
        ax.set(xlim=(0, 160), ylim=(100, 0), aspect="equal", xticks=[], yticks=[])
        ax.grid(False)
        ax.spines[:].set_visible(True)
        ax.set_title(f"{n + 1}. {rung.name[0].upper()}{rung.name[1:]}")
        frames.append(_DRAW[rung.key](ax))
        figures = dict(rung.figures)
        ax.set_xlabel(
            "\n".join(f"{label}: {figures[label].pretty}" for label in _SHOWN[rung.key]), fontsize=9
        )
    for n, (ax, following, frame) in enumerate(zip(axes, axes[1:], frames, strict=False)):
        x, y, w, h = frame
        ax.add_patch(Rectangle((x - 1, y - 1), w + 2, h + 2, fill=False, ec=style.ink(), lw=1.6))
        if n % 3 < 2:  # the next panel stands in the same row
            for corner, goal in (((x + w, y), (0, 0)), ((x + w, y + h), (0, 100))):
                line = ConnectionPatch(corner, goal, "data", "data", axesA=ax, axesB=following,
                                       color=style.ink("muted"), lw=0.8)  # fmt: skip
                fig.add_artist(line)
    return fig


def _block(ax, x, y, w, h, colour, text="", size=8):
    ax.add_patch(FancyBboxPatch((x, y), w, h, boxstyle="round,pad=0,rounding_size=1.5",
                                fc=(*_rgb(colour), 0.25), ec=colour, lw=1.3))  # fmt: skip
    ax.text(x + w / 2, y + h / 2, text, ha="center", va="center", size=size)


def _rgb(colour):
    return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))


def _cells(ax, places, colour, alpha=0.8):
    ax.add_collection(PatchCollection([Rectangle((x, y), w, h) for x, y, w, h in places],
                                      fc=colour, ec="none", alpha=alpha))  # fmt: skip


def _cluster(ax):
    _block(ax, 5, 10, 150, 9, style.ENGINE["dma"], "network (EFA)")
    _cells(ax, [(5 + 1.2 * i, 26 + 1.2 * j, 0.95, 0.6) for i in range(125) for j in range(50)],
           style.COLOURS["green"])  # fmt: skip
    return 79.4, 56, 1, 0.6


def _instance(ax):
    link = {"color": style.COLOURS["orange"], "lw": 2, "zorder": 0}
    for n in range(4):
        ax.plot([12, 148], [17 + 21.5 * n] * 2, **link)
        ax.plot([35 + 30 * n] * 2, [5, 95], **link)
    for n in range(16):
        x, y = 25.5 + 30 * (n % 4), 11 + 21.5 * (n // 4)
        ax.add_patch(Rectangle((x, y), 19, 12, fc=style.ink("paper"), ec="none"))
        _block(ax, x, y, 19, 12, style.COLOURS["green"], "" if n == 5 else f"chip {n}", 7)
    ax.text(80, 98, "links at the edges wrap around", ha="center", va="bottom", size=7)
    return 55.5, 32.5, 19, 12


def _chip(ax):
    ax.add_patch(Rectangle((5, 4), 150, 92, fill=False, ec=style.COLOURS["green"], lw=1.6))
    for x in (10, 131):
        _block(ax, x, 13, 19, 74, style.COLOURS["sky"], "HBM", 9)
    for n, x in enumerate((38, 83)):
        _block(ax, x, 16, 39, 24, style.ENGINE["tensor"], f"NeuronCore {n}", 8)
    _cells(ax, [(38.4 + 5.27 * (n % 16), 48 + 6.5 * (n // 16), 4.4, 5) for n in range(32)],
           style.ENGINE["dma"])  # fmt: skip
    ax.text(80, 64.5, "32 DMA engines", ha="center", size=7.5)
    _cells(ax, [(38.4 + 14.05 * n, 70, 12.8, 9) for n in range(6)], style.ENGINE["vector"])
    ax.text(80, 84.5, "6 CC-Cores", ha="center", size=7.5)
    return 38, 16, 39, 24


def _core(ax):
    _block(ax, 8, 12, 52, 33, style.ENGINE["tensor"], "Tensor Engine", 9)
    _block(ax, 71, 12, 22, 33, style.COLOURS["yellow"], "PSUM", 9)
    for n, name in enumerate(("vector", "scalar", "gpsimd")):
        label = {"gpsimd": "GpSimd"}.get(name, name.title())
        _block(ax, 105, 12 + 11.5 * n, 46, 10, style.ENGINE[name], f"{label} Engine", 8)
    _block(ax, 8, 56, 143, 17, style.COLOURS["sky"], "SBUF", 9)
    _block(ax, 8, 83, 143, 9, style.ENGINE["dma"], "DMA to and from HBM", 8)
    arrow = {"arrowstyle": "-|>", "color": style.ink("muted")}
    for start, end in (((30, 56), (30, 45)), ((60, 28), (71, 28)), ((80, 83), (80, 73))):
        ax.annotate("", end, start, arrowprops=arrow)
    for y in (17, 28.5):
        ax.annotate("", (105, y), (93, y), arrowprops={**arrow, "arrowstyle": "<|-|>"})
    ax.annotate("", (128, 56), (128, 45), arrowprops={**arrow, "arrowstyle": "<|-|>"})
    return 8, 12, 52, 33


def _array(ax):
    ax.imshow(
        [[0.25 + 0.7 * max(0.0, 1 - ((j + i) % 64) / 24) for i in range(128)]
         for j in range(128)],
        extent=(32, 128, 80, 20), cmap="Blues", vmin=0, vmax=1, interpolation="nearest",
    )  # fmt: skip
    ax.set(xlim=(0, 160), ylim=(100, 0))
    ax.text(16, 50, "moving →", ha="center", va="center", size=8)
    ax.text(80, 13, "stationary ↓", ha="center", size=8)
    ax.text(80, 88, "sums ↓", ha="center", size=8)
    return 79, 49.3, 2, 1.4


def _element(ax):
    arrow = {"arrowstyle": "-|>", "color": style.ink(), "lw": 1.4}
    for start, end in (((6, 55), (56, 55)), ((68, 55), (93, 55)), ((48, 33), (58, 49)),
                       ((99, 6), (99, 49)), ((99, 61), (99, 95))):  # fmt: skip
        ax.annotate("", end, start, arrowprops=arrow)
    for x, sign in ((62, "×"), (99, "+")):
        ax.add_patch(Circle((x, 55), 6.2, fc=style.ink("paper"), ec=style.ink(), lw=1.4))
        ax.text(x, 55, sign, ha="center", va="center", size=14)
    _block(ax, 26, 22, 36, 11, style.ENGINE["tensor"], "weight, stays", 8)
    ax.text(22, 51, "input", size=8, ha="center")
    ax.text(103, 16, "sum from above", size=8)
    ax.text(103, 88, "sum, one down", size=8)
    return 0, 0, 0, 0


_DRAW = {
    "ultracluster": _cluster,
    "instance": _instance,
    "chip": _chip,
    "neuroncore": _core,
    "tensor_engine": _array,
    "element": _element,
}


if __name__ == "__main__":  # store the picture that the widget shows where no kernel runs
    from pathlib import Path

    from trainium_edu import files
    from trainium_edu.specs.ladder import ladder

    with style.theme(False):
        png = style.to_png(plot_zoom(ladder()))
    files.write(Path(__file__).parents[1] / "widgets/static/zoom.png", png)
