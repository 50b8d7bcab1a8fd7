"""What a page does to a widget, without a browser."""

import json


def send(widget, content):
    """Send a message to a widget as the page does: over its comm."""
    data = {"method": "custom", "content": content}
    widget.comm.handle_msg({"content": {"data": data}, "buffers": []})


def press(sketch, *keys):
    """Press buttons of a sketch, one after the other."""
    for key in keys:
        send(sketch, {"press": key})


def said(sketch):
    """Return what stands below a sketch; its page must be JSON."""
    json.dumps(sketch.page, allow_nan=False)
    return " ".join(sketch.page["said"])
