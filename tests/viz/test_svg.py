"""Judge: the standard library's XML parser."""

import xml.etree.ElementTree as ET

import numpy as np

from tests.for_each import raises
from trainium_edu.viz.scene import Scene
from trainium_edu.viz.svg import to_svg


def _scene():
    scene = Scene(200, 100, 'a "test" <of> shapes')
    scene.rect(10, 20, 30, 40, "#0072B2", outline=True)
    scene.line(0, 0, 200, 100, dashed=True)
    scene.ticks([1, 2, 3], 5, 15, "ink")
    scene.path([0, 1, 2], [3, 4, 5], "muted", dash="dotted", words="a <curve>")
    scene.area([0, 1, 2], [3, 4, 5], "grid")
    scene.text(100, 50, "x < y & z", anchor="middle", bold=True)
    return scene


def test_every_shape_becomes_one_element_and_texts_survive():
    root = ET.fromstring(to_svg(_scene()))
    assert root.get("aria-label") == 'a "test" <of> shapes'
    assert root.get("viewBox") == "0 0 200 100"
    assert [child.tag for child in root] == ["rect", "path", "path", "path", "path", "text"]
    assert (root[5].text, root[3][0].text) == ("x < y & z", "a <curve>")
    assert root[2].get("d") == "M1.0 5.0V15.0M2.0 5.0V15.0M3.0 5.0V15.0"


def test_words_for_colours_follow_the_page_s_theme():
    root = ET.fromstring(to_svg(_scene()))
    assert "stroke:#0072B2" in root[0].get("style")
    assert "stroke:var(--ink)" in root[2].get("style")
    assert "fill:var(--grid)" in root[4].get("style")


def test_images_are_refused():
    scene = Scene(10, 10)
    scene.image(0, 0, 10, 10, np.zeros((2, 2, 3)))
    raises(ValueError, "images", to_svg, scene)
