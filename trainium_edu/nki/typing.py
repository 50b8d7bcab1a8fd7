"""``nki.typing``: annotations of kernel parameters, such as ``tensor[128, 512]``."""

__all__ = ["tensor"]


class tensor:
    """A tensor parameter; ``tensor[128, 512]`` also says its shape. Nothing is checked."""

    def __class_getitem__(cls, shape):
        """Return the annotation itself."""
        return cls
