"""Data in, figure out: one ``plot_...`` function per kind of picture.

Plot functions take plain data, build a ``matplotlib.figure.Figure`` without pyplot, and never
simulate.  Colours come from ``style``.  Read ``style.py`` first; every lesson uses this floor.
"""
