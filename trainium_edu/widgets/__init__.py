"""Controls around one plot: state in, picture out.

A widget holds a few small traits and forwards them; it computes nothing itself.  Simple controls
are ipywidgets joined by ``observe``; a still figure is a :class:`~.picture.Picture`; anything that
moves is one anywidget whose frames are computed once and sent as bytes.  Read ``picture.py`` first.
Every lesson uses this floor.
"""
