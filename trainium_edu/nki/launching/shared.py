"""A tensor in shared HBM as the programs of a launch see it: the same bytes, the same mask."""

from trainium_edu.neuroncore.recording.memory import Buffer

__all__ = ["SharedBytes"]


class SharedBytes:
    """The bytes of a tensor that several programs hold."""

    __slots__ = ("all_written", "base", "start", "written")

    def __init__(self, buffer: Buffer):
        self.base = buffer.base
        self.start = buffer.start
        self.written = buffer.written
        self.all_written = buffer.all_written

    def buffer_of(self, buffer: Buffer) -> Buffer:
        """Return a buffer on these bytes for the allocation of another program."""
        return _SharedBuffer(buffer.info, self, buffer.pitch)


class _SharedBuffer(Buffer):
    __slots__ = ("shared",)

    def __init__(self, info, shared, pitch):
        self.shared = shared
        super().__init__(info, shared.base, shared.start, pitch, shared.written)

    @property
    def all_written(self):
        return self.shared.all_written

    @all_written.setter
    def all_written(self, value):
        self.shared.all_written = value or self.shared.all_written
