"""What a check rejects an answer with, as its syntax tree has it."""


def rejected(node):
    """Return the texts of a call of `reject`, or of `reject_if` after its condition."""
    name = getattr(getattr(node, "func", None), "id", "")
    return {"reject": lambda: node.args, "reject_if": lambda: node.args[1:]}.get(name, list)()
