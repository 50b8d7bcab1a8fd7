"""Names of earlier and newer NKI interfaces, and what to write instead.

Kernels of the first interface (``neuronxcc.nki``) run by ``nki/beta1``: its functions return their
results, and those of the current one take where to put them, ``dst``, first.
"""

import sys
from types import ModuleType

from trainium_edu.names import near
from trainium_edu.nki.rows import read
from trainium_edu.specs.software import SOFTWARE

__all__ = ["NEWER", "names_of"]

_WORDS = read("instead.toml")
#: What the release after the one that is followed added and is missing here.
NEWER = {row["section"]: row["names"] for row in read("names.toml")["newer"]
         if row["state"] == "missing"}  # fmt: skip
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
    instead = _WORDS["earlier"].get(public, {}).get(name)
    if instead is not None:
        return f"{public}.{name} was part of an earlier NKI; {instead}"
    if name in NEWER.get(public, "").split():
        instead = _WORDS["instead_of_newer"][public]
        return (
            f"{public}.{name} is new in NKI {SOFTWARE.newest_nki_version.value}; this follows "
            f"{SOFTWARE.nki_version.value}, as nki.coverage() says; {instead}"
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
