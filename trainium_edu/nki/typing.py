"""``nki.typing``: annotations of kernel parameters, such as ``tensor[128, 512]``."""

from trainium_edu.nki.earlier import names_of

__all__ = ["tensor"]


class tensor:
    """A tensor parameter; ``tensor[128, 512]`` also says its shape. Nothing is checked."""

    def __class_getitem__(cls, shape):
        """Return the annotation itself."""
        return cls


__getattr__ = names_of(__name__, "nki.typing")
