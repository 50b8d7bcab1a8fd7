"""What a page does to a widget, without a browser."""


def send(widget, content):
    """Send a message to a widget as the page does: over its comm."""
    data = {"method": "custom", "content": content}
    widget.comm.handle_msg({"content": {"data": data}, "buffers": []})
