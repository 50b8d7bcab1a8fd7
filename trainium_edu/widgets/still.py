"""A still PNG beside a live widget, for readers of the stored notebook who have no kernel."""

import base64

__all__ = ["with_still"]


def with_still(bundle, png: bytes):
    """Add a still PNG to a widget's MIME bundle, for readers without a kernel.

    Parameters
    ----------
    bundle : dict, (dict, dict) or None
        What ``super()._repr_mimebundle_()`` gave.
    png : bytes

    Returns
    -------
    bundle of the same shape, with ``image/png``
    """
    if bundle is None:
        return {"image/png": base64.b64encode(png).decode()}
    data = bundle[0] if isinstance(bundle, tuple) else bundle
    data["image/png"] = base64.b64encode(png).decode()
    return bundle
