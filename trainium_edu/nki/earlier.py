"""Names of earlier and newer NKI interfaces, and what to write instead.

Kernels of the first interface (``neuronxcc.nki``) run by ``nki/beta1``: its functions return their
results, and those of the current one take where to put them, ``dst``, first.
"""

import sys
from types import ModuleType

from trainium_edu.names import near
from trainium_edu.specs.software import SOFTWARE

__all__ = ["NEWER", "names_of"]

_RUN = "nki.run(kernel, ...) returns outputs and device time: nki.run(...).timeline.makespan_ns"
_SLICES = "slice tiles, t[0:128, 0:512] or t[:, nl.ds(start, size)], or write t.ap(pattern=...)"
_DYNAMIC = "nisa.tensor_copy with t.ap(..., scalar_offset=...) copies from or to a place known late"
_GRID = "grid sizes are integers: kernel[2](...)"
_INSTEAD = {
    "nki": {
        "baremetal": _RUN, "benchmark": _RUN, "profile": _RUN, "trace": "use nki.jit",
        "simulate_kernel": "call nki.simulate(kernel)(...)",
    },
    "nki.language": {
        "arange": _SLICES, "mgrid": _SLICES, "nc": _GRID, "spmd_dim": _GRID,
        "cast": "the dtype of dst decides: nisa.tensor_copy(dst, src) casts",
        "load_transpose2d": "use nisa.dma_transpose, or load and nisa.nc_transpose",
        "par_dim": "the first dimension of an on-chip tensor is the partition dimension",
    },
    "nki.isa": {"tensor_copy_dynamic_dst": _DYNAMIC, "tensor_copy_dynamic_src": _DYNAMIC},
}  # fmt: skip
#: What the release after the one that is followed added, as far as the beginnings of its pages say.
NEWER = {
    "nki.language": "tiles blocks alloc_tiles alloc_blocks NkiGrid NkiTileGrid NkiBlockGrid "
    "NkiScalar",
    "nki.collectives": "all_gather_v_prepare all_gather_v_trigger all_to_all_v_prepare "
    "all_to_all_v_trigger",
}
_OLDER = {
    "nki.language": "slices do the same: t[i * 128:(i + 1) * 128, j * 512:(j + 1) * 512]",
    "nki.collectives": "all_to_all_v and all_gather_v do both halves in one call",
}
_SHORT = {"nki.language": "nl.", "nki.isa": "nisa."}
_OTHER = {"nki.language": ".isa", "nki.isa": ".language"}


def names_of(module: str, public: str):
    """Return a module's ``__getattr__``: names of other interfaces, and what was probably meant.

    Parameters
    ----------
    module : str
        Its ``__name__``.
    public : str
        As AWS calls it: "neuronxcc.nki.language".
    """

    def missing(name):
        raise AttributeError(_instead_of(name, module, public))

    return missing


def _instead_of(name, module, public) -> str:
    instead = _INSTEAD.get(public, {}).get(name)
    if instead is not None:
        return f"{public}.{name} was part of an earlier NKI; {instead}"
    if name in NEWER.get(public, "").split():
        return (
            f"{public}.{name} is new in NKI {SOFTWARE.newest_nki_version.value}; this follows "
            f"{SOFTWARE.nki_version.value}, as nki.coverage() says; {_OLDER[public]}"
        )
    home = public.removeprefix("neuronxcc.")
    hint = near(name, _public(module), _SHORT.get(home, home + "."))
    if home in _OTHER and name in _public(module.rpartition(".")[0] + _OTHER[home]):
        hint = f"; is {_SHORT['nki' + _OTHER[home]]}{name} meant?"
    return f"module {public!r} has no attribute {name!r}{hint}"


def _public(module) -> list[str]:
    """Return a module's public names."""
    names = vars(sys.modules[module]) if module in sys.modules else {}
    own = (key for key, value in names.items() if not isinstance(value, ModuleType))
    return names.get("__all__") or [key for key in own if key[0] != "_"]
