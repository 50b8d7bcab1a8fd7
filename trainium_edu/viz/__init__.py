"""Data in, scene out: one ``draw_...`` function per kind of picture.

They take plain data, return a ``Scene``, and never simulate.  Colours come from ``colours``.  Read
``scene.py`` first; every lesson uses this floor.
"""
