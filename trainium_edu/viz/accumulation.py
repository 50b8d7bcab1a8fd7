"""Pictures of sums that are rounded at every step, with theory's lines."""

import numpy as np

from trainium_edu.viz import style

__all__ = ["plot_long_sums", "plot_many_roundings", "plot_quick_test"]

_PATHS = 12  # runs drawn one by one; more would be a band


def plot_quick_test(test, *, documented: float | None = None):
    """Draw runs of the quick test on their way, and where they end beside the exact law.

    Parameters
    ----------
    test : QuickTest
    documented : float, optional
        The result that AWS prints, marked beside the law.

    Returns
    -------
    matplotlib.figure.Figure
    """
    fig = style.figure(9, 3.5, margins=(0.65, 0.15, 0.5, 0.4))
    left, right = fig.subplots(1, 2, gridspec_kw={"wspace": 0.22, "width_ratios": [1.15, 1]})
    x = np.append(0, test.terms_added)
    mean = 1024 + 0.5 * x
    sd = np.append(0, test.sd)
    blue, red = style.ROUNDING["stochastic"], style.ROUNDING["nearest"]
    paths = np.vstack([np.full(_PATHS, 1024.0), test.runs[:, :_PATHS]])
    left.plot(x, paths, color=blue, lw=0.8, alpha=0.8)
    left.plot([], [], color=blue, label=f"stochastic, {paths.shape[1]} runs")
    left.fill_between(x, mean - 2 * sd, mean + 2 * sd, color=blue, alpha=0.18, lw=0)
    left.plot(x, mean, color=style.ink(), ls="--", lw=1.2, label="exact sum")
    left.plot(x, np.append(1024, test.nearest), color=red, lw=2.4, label="nearest-even")
    left.set(xlim=(0, 2048), xlabel="additions of 0.5", title="The sum on its way")
    left.legend(loc="upper left")

    low, high = test.law.quantile(0.0005), test.law.quantile(0.9995)
    wide = 2.0 ** np.ceil(np.log2((high - low) / 24))
    edges = np.arange(low // wide * wide, high + wide, wide)
    middle = edges[:-1] + wide / 2
    runs = np.histogram(test.final, edges)[0] / test.final.size
    law = np.histogram(test.law.values, edges, weights=test.law.probabilities)[0]
    right.bar(middle, 100 * runs, width=0.9 * wide, color=blue, alpha=0.7,
              label=f"{test.final.size} runs")  # fmt: skip
    right.step(np.append(edges[0], edges), 100 * np.concatenate([[0], law, [0]]), where="post",
               color=style.ink(), lw=1.4, label="exact law")  # fmt: skip
    if documented is not None:
        right.axvline(documented, color=style.COLOURS["orange"], lw=2,
                      label=f"AWS's page: {documented:g}")  # fmt: skip
    right.set(xlim=(edges[0], edges[-1]), xlabel="final sum", title="Where it ends, % of runs")
    right.set_ylim(0, 145 * max(runs.max(), law.max()))
    right.legend(loc="upper left", ncols=1)
    return fig


def plot_long_sums(sums, ax=None):
    """Draw the relative error of long sums of positive terms against their length.

    Parameters
    ----------
    sums : LongSums
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    if ax is None:
        ax = style.figure(5.4, 3.6, margins=(0.7, 0.15, 0.5, 0.4)).subplots()
    ax.loglog(sums.n, sums.nearest, color=style.ROUNDING["nearest"], lw=2.4, label="nearest-even")
    ax.loglog(sums.n, sums.stochastic, color=style.ROUNDING["stochastic"], lw=1.8,
              label="stochastic")  # fmt: skip
    typical = 0.6745 * sums.spread  # the median size of a normal error
    ax.loglog(sums.n, typical, color=style.ink(), ls="--", lw=1.2, label="theory")
    ax.axhline(0.6745 * sums.saturation, color=style.ink("muted"), ls=":", lw=1.4)
    ax.text(
        sums.n[-1], 0.6745 * sums.saturation * 1.25, "settles near 0.67 √(ε/3)",
        ha="right", va="bottom", color=style.ink("muted"),
    )  # fmt: skip
    ax.set(xlabel="terms added", title="Sums of numbers from 0 to 1: relative error")
    low = max(min(sums.stochastic.min(), sums.nearest[sums.nearest > 0].min()), 1e-5)
    ax.set_ylim(low / 1.5, 1.6)
    ax.minorticks_off()
    ax.legend(loc="lower right")
    return ax.figure


def plot_many_roundings(growth, ax=None):
    """Draw how the errors of many roundings of one number add up.

    Parameters
    ----------
    growth : ErrorGrowth
    ax : matplotlib.axes.Axes, optional

    Returns
    -------
    matplotlib.figure.Figure
    """
    if ax is None:
        ax = style.figure(5.4, 3.6, margins=(0.7, 0.15, 0.5, 0.4)).subplots()
    step = growth.fmt.epsilon
    ax.loglog(growth.n, growth.nearest / step, color=style.ROUNDING["nearest"], lw=2.4,
              label="nearest-even")  # fmt: skip
    ax.loglog(growth.n, growth.stochastic / step, color=style.ROUNDING["stochastic"], lw=1.8,
              label="stochastic (root mean square)")  # fmt: skip
    ax.loglog(growth.n, growth.bias_line / step, color=style.ink(), ls="--", lw=1.2,
              label="theory: n × bias")  # fmt: skip
    ax.loglog(growth.n, growth.sd_line / step, color=style.ink(), ls=":", lw=1.4,
              label="theory: √n × spread")  # fmt: skip
    ax.minorticks_off()
    ax.set(xlabel="roundings", title=f"{growth.value:.4g} rounded n times: summed error, in ε")
    ax.legend(loc="upper left")
    return ax.figure
