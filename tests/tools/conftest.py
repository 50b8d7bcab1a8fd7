"""A folder of live runs for each test of the tools around a run."""

import tempfile

import pytest

from trainium_edu import live


@pytest.fixture
def own_folder(tmp_path, monkeypatch):
    """Let a test have a folder of live runs to itself."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield tmp_path
    if live.current() is not None:
        live.current().close()
