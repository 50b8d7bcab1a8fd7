"""Judge: the page's data, through JSON and back."""

import json

import numpy as np

from trainium_edu.viz.scene import Scene, linear


def _scene():
    scene = Scene(200, 100, "a test")
    scene.rect(10, 20, 30, 40, "#0072B2")
    scene.rect(10, 20, 0, 40, "#0072B2")  # nothing to see, nothing drawn
    scene.line(0, 0, 200, 100, dashed=True)
    scene.ticks([1, 2, 3], 5, 15, "ink")
    scene.text(100, 50, "middle", anchor="middle", bold=True)
    scene.image(0, 0, 20, 10, np.arange(24, dtype=np.uint8).reshape(2, 4, 3))
    return scene


def test_the_page_gets_the_shapes_in_their_order():
    scene = _scene()
    assert json.loads(json.dumps(scene.data(), allow_nan=False))["alt"] == "a test"
    assert [shape[0] for shape in scene.shapes] == ["rect", "line", "ticks", "text"]
    assert scene.shapes[0] == ["rect", 10, 20, 30, 40, "#0072B2", 1, False]
    assert scene.shapes[2][1:4] == [[1, 2, 3], 5, 15]
    assert scene.shapes[3][1:5] == [100, 50, "middle", "middle"]


def test_pixels_arrive_as_opaque_rgba():
    scene = _scene()
    ((x, _y, _w, _h, columns, rows, offset),) = scene.data()["images"]
    assert (x, columns, rows, offset) == (0, 4, 2, 0)
    pixels = np.frombuffer(scene.pixels(), np.uint8).reshape(rows, columns, 4)
    np.testing.assert_array_equal(pixels[..., :3].ravel(), np.arange(24))
    assert (pixels[..., 3] == 255).all()


def test_linear_maps_ends_to_ends():
    to_x = linear(-2, 2, 100, 300)
    assert (to_x(-2), to_x(0), to_x(2)) == (100, 200, 300)
    np.testing.assert_array_equal(to_x(np.array([-2.0, 2.0])), [100, 300])
