"""A learner's script."""

import pytest


@pytest.fixture
def script(tmp_path):
    """Return a function that writes a script; it returns the path."""

    def written(text, name="train.py"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return written
