"""A number between two neighbours, its odds, and where throws of the dice have put it."""

from trainium_edu.viz import style

__all__ = ["plot_throws"]


def plot_throws(lower, upper, x, nearest, up: int, n: int, texts=("", "", "")):
    """Draw the gap as a number line with a bar of throws over each end.

    Parameters
    ----------
    lower, upper : float
        The two neighbours.
    x, nearest : float
        The number between them, and where nearest-even puts it.
    up, n : int
        Throws that went up, of all throws.
    texts : (str, str, str)
        The numbers lower, upper and x as written below the line.

    Returns
    -------
    matplotlib.figure.Figure
    """
    share = (x - lower) / (upper - lower)
    fig = style.figure(9, 3.1, margins=(0.3, 0.3, 0.55, 0.4))
    ax = fig.subplots()
    for place, odds, count in ((0, 1 - share, n - up), (1, share, up)):
        if n:
            ax.bar(place, count / n, width=0.12, color=style.ROUNDING["stochastic"])
        ax.bar(place, odds, width=0.12, fill=False, ec=style.ink(), ls="--", lw=1.4)
        words = f"{count:,} of {n:,} throws".replace(",", " ")
        ax.text(place, 1.08, f"{words}\nexact odds {100 * odds:.2f} %", ha="center", va="bottom")
    ax.axhline(0, color=style.ink(), lw=1.5)
    ax.plot([share], [0], "v", ms=13, color=style.ink(), clip_on=False, zorder=5)
    end = 0 if nearest == lower else 1
    ax.annotate(
        "nearest-even: always here", (end, 0.02), (share + (end - share) * 0.45, 0.42),
        color=style.ROUNDING["nearest"], ha="center",
        arrowprops={"arrowstyle": "-|>", "color": style.ROUNDING["nearest"], "lw": 2},
    )  # fmt: skip
    if n:
        ax.plot(
            [up / n], [0], "D", ms=8, color=style.ROUNDING["stochastic"], clip_on=False, zorder=6
        )
        ax.text(up / n, 0.12, "mean of the throws", color=style.ROUNDING["stochastic"], ha="center")
    for place, text in ((0, texts[0]), (1, texts[1]), (share, f"x = {texts[2]}")):
        ax.text(place, -0.14, text, ha="center", va="top", weight="bold")
    ax.set(xlim=(-0.16, 1.16), ylim=(0, 1.3))
    ax.set_axis_off()
    return fig
