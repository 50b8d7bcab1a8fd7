"""The instructions of ``nki.isa``: a function for each row of ``instructions.toml``.

All issue the instruction of their name, with their arguments as operands; what a later chip has
raises, naming it.  ``nisa.tensor_copy??`` shows one.
"""

from trainium_edu.nki.isa import pairs
from trainium_edu.nki.issuing import issue as issue
from trainium_edu.nki.language.elementwise import equal as equal
from trainium_edu.nki.language.elementwise import maximum as maximum
from trainium_edu.nki.objects import enums
from trainium_edu.nki.objects.enums import dge_mode, engine, nc_version
from trainium_edu.nki.objects.enums import dma_engine as dma_engine
from trainium_edu.nki.objects.enums import matmul_perf_mode as matmul_perf_mode
from trainium_edu.nki.objects.enums import oob_mode as oob_mode
from trainium_edu.nki.objects.enums import reduce_cmd as reduce_cmd
from trainium_edu.nki.refusals import refusal
from trainium_edu.nki.rows import make, names_in, read
from trainium_edu.nki.running import chip_here
from trainium_edu.nki.running import later_chip as later_chip

tensor_engine, vector_engine = engine.tensor, engine.vector
scalar_engine, gpsimd_engine = engine.scalar, engine.gpsimd
unknown_engine = engine.unknown


def get_nc_version():
    """Return the generation of the NeuronCore that runs the kernel."""
    return nc_version(chip_here().generation.value)


def get_nc_sub_version() -> int:
    """Return the revision of the silicon within its generation: the first."""
    return 0


# -- what is checked before an instruction is issued ------------------------------------------


def _check_dma_copy(operands):
    asked = enums.chosen(engine, operands.pop("engine"), "dma_copy: engine")
    if asked is not engine.unknown and operands["dge_mode"] != dge_mode.hwdge:
        raise refusal("isa.dma_engine", asked=asked)
    if asked not in (engine.unknown, engine.sync, engine.scalar):
        raise refusal("isa.dge_engine", asked=asked)
    return operands | {"asked_by": None if asked is engine.unknown else asked.name}


def _check_memset(operands):
    if type(operands["value"]) is bool and getattr(operands["dst"], "dtype", None) == "bool":
        operands["value"] = int(operands["value"])
    return operands


# -- the rows ---------------------------------------------------------------------------------


def _body(name, row):
    """Return the line that a function consists of."""
    if "chip" in row:
        return f"raise later_chip('nki.isa.{name}', {row['chip']!r})"
    operands = ", ".join(f"{role}={role}" for role in names_in(row["now"]))
    if hasattr(pairs, name):
        return f"return pairs.{name}(dict({operands}), name)"
    if f"_check_{name}" in globals():
        operands = f"**_check_{name}(dict({operands}))"
    return f"return issue('{name}', {operands}, name=name)"


_ROWS = {name: row for name, row in read("instructions.toml").items() if "now" in row}
__all__ = ["get_nc_sub_version", "get_nc_version", "gpsimd_engine", "scalar_engine",
           "tensor_engine", "unknown_engine", "vector_engine", *_ROWS]  # fmt: skip
for _name, _row in _ROWS.items():
    globals()[_name] = make(
        _name, f"{_row['now']} name=None", _row["says"], _body(_name, _row), globals()
    )
