"""What ``nki.isa`` does with virtual registers and scalars, run by an engine's sequencer."""

from trainium_edu.neuroncore.recording.engine import Memory
from trainium_edu.nki.objects.tensor import NkiTensor
from trainium_edu.nki.objects.virtual_register import NkiScalar, VirtualRegister
from trainium_edu.nki.refusals import refusal
from trainium_edu.nki.running import current
from trainium_edu.specs.arguments import instance, whole
from trainium_edu.specs.errors import NkiValidationError

__all__ = ["register_alloc", "register_load", "register_move", "register_store", "scalar_load",
           "scalar_store"]  # fmt: skip


def register_alloc(x=None) -> VirtualRegister:
    """Return a register, empty or holding the integer `x` (or the number in a tensor)."""
    current()
    if x is None:
        return VirtualRegister()
    register = VirtualRegister()
    if isinstance(x, NkiTensor):
        register_load(register, x)
    else:
        register.set(_immediate("register_alloc", x))
    return register


def _immediate(name, value):
    if isinstance(value, VirtualRegister):
        return value.value
    value = whole(value, f"{name}: the whole number or register")
    if not -(2**31) <= value < 2**32:
        raise NkiValidationError(f"{name}: {value} does not fit into a register of 32 bits")
    return value


def _register(name, register):
    takes = "a register; nisa.register_alloc makes one"
    return instance(register, f"{name}: the argument", VirtualRegister, takes)


def register_move(dst, src) -> None:
    """Put an integer, or another register's value, into a register."""
    _register("register_move", dst).set(_immediate("register_move", src))


def _one(name, tensor):
    instance(tensor, f"{name}: the argument", NkiTensor, "a tensor")
    if tensor.size != 1:
        raise refusal("registers.many_elements", name=name, tensor=tensor)
    if tensor._view.memory is Memory.PSUM:
        raise refusal("registers.in_psum", name=name, tensor=tensor)
    return tensor._view


def register_load(dst, src) -> None:
    """Load the one number of a tensor (SBUF or HBM) into a register."""
    register = _register("register_load", dst)
    view = _one("register_load", src)
    running = current()
    if not running.core.values:
        raise refusal("registers.without_values")
    running.core.issue("register_load", src=view)
    value = view.read().reshape(-1)[0]
    register.set(float(value) if view.dtype.is_float else int(value))


def register_store(dst, src) -> None:
    """Store a register's value into a tensor of one element (SBUF or HBM)."""
    view = _one("register_store", dst)
    value = _register("register_store", src).value
    current().core.issue("register_store", dst=view, value=value)


def scalar_load(src) -> NkiScalar:
    """Load the one int32 of a tensor (SBUF or HBM); timed as :func:`register_load`."""
    _check_scalar("scalar_load: src", src)
    register_load(register := VirtualRegister(), src)
    return NkiScalar(register.value)


def scalar_store(dst, value) -> None:
    """Store a scalar into a tensor of one int32 (SBUF or HBM)."""
    _check_scalar("scalar_store: dst", dst)
    instance(value, "scalar_store: value", NkiScalar, "a scalar; nisa.memset writes a constant")
    register_store(dst, value)


def _check_scalar(name, tensor):
    if _one(name, tensor).dtype.name != "int32":
        raise refusal("registers.scalar_dtype", name=name, tensor=tensor)
