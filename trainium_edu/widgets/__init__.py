"""Controls around one plot: state in, picture out.

A widget holds a few small traits and forwards them; it computes nothing itself.  Simple controls
are those of a :class:`~.sketch.Sketch`; a still scene is a :class:`~.picture.Picture`; anything
that moves is one anywidget whose frames are computed once and sent as bytes.  Read ``sketch.py``
first.  Every lesson uses this floor.

What the page draws, Python does not draw again: the notebooks of this project hold a picture of it
that ``make notebooks`` took in Chromium, and a learner's own copy holds its text (the fixed
``repr`` with its numbers), unless JupyterLab's *Save Widget State Automatically* is on.
"""

from trainium_edu.widgets.release import release_on_rerun

__all__: list[str] = []

release_on_rerun()
