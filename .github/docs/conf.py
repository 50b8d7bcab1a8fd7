"""How Sphinx builds the documentation that ``.ci/docs.py`` has put together."""

from trainium_edu import __version__

project = "trainium_edu"
author = "The trainium_edu authors"
release = __version__
copyright = author

extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "numpydoc", "myst_nb"]
exclude_patterns = []
default_role = "literal"  # docstrings put names between single backticks

autodoc_default_options = {"member-order": "bysource", "no-value": True}
autodoc_typehints = "none"  # numpydoc states types with what they mean
numpydoc_show_class_members = False
toc_object_entries = False  # pages list modules; the index lists every name

nb_execution_mode = "off"  # outputs as stored; `make test` compares them with a run
nb_merge_streams = True
myst_heading_anchors = 3

html_theme = "furo"
html_title = "trainium_edu"
html_show_copyright = False
html_copy_source = False
html_show_sourcelink = False
