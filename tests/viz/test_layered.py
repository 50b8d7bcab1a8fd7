"""Two layers; judge: Matplotlib drawing the same figure whole."""

import io

import numpy as np
from PIL import Image

from trainium_edu.viz import style
from trainium_edu.viz.layered import Layered


def ground():
    fig = style.figure(4, 3, margins=(0.5, 0.2, 0.5, 0.3))
    ax = fig.subplots()
    ax.plot([0, 1, 2], [0, 3, 1], label="a curve")
    ax.legend(loc="upper left")
    ax.set(xlim=(0, 2), ylim=(0, 4))
    return fig


def over(x):
    return lambda fig: [
        fig.axes[0].plot(x, 2.5, "ro", zorder=10)[0],
        fig.axes[0].text(x, 1, f"x = {x}", zorder=11),
    ]


def pixels(png):
    return np.asarray(Image.open(io.BytesIO(png)))


def test_a_layered_picture_has_the_pixels_of_a_whole_one():
    layered = Layered()
    for dark in (False, True, False):
        for x in (0.5, 1.5, 0.5):
            with style.theme(dark):
                two = pixels(style.to_png(layered.figure("shown", ground, over(x))))
                one = ground()
                over(x)(one)
                np.testing.assert_array_equal(two, pixels(style.to_png(one)))


def test_a_ground_is_made_once_for_what_it_shows():
    layered, made = Layered(), []

    def count():
        made.append(1)
        return ground()

    for x in (0.1, 0.2, 0.3):
        fig = layered.figure("shown", count, over(x))
    assert len(made) == 1
    assert [t.get_text() for t in fig.axes[0].texts] == ["x = 0.3"]
    layered.figure("other", count, over(1))
    assert len(made) == 2
