"""The instructions of the older ``nki.isa``: a function for each row of ``instructions.toml``.

Most rows say what the function returns: "-> like data".  The others have a rule, a function of
their name in ``arithmetic``, ``selection``, ``tensor`` or ``moving``.
"""

import numpy as np

from trainium_edu.nki.beta1.isa import arithmetic, moving, selection, tensor
from trainium_edu.nki.beta1.isa.constants import dge_mode as dge_mode
from trainium_edu.nki.beta1.isa.constants import engine as engine
from trainium_edu.nki.beta1.isa.constants import oob_mode as oob_mode
from trainium_edu.nki.beta1.isa.constants import reduce_cmd
from trainium_edu.nki.beta1.isa.options import also_written, choice, more, same_dtype
from trainium_edu.nki.beta1.operation import op_name, operation, perform, scalar, tile
from trainium_edu.nki.objects.dtypes import promoted
from trainium_edu.nki.rows import make, names_in, read
from trainium_edu.nki.running import chip_here, later_chip

fp32 = np.finfo(np.float32)


def _command(value, who):
    return choice(reduce_cmd, value, who)


#: How an operand is taken, by its role, or by the instruction and its role.
_TAKEN = {
    **dict.fromkeys(("bound0", "bound1", "data", "data0", "data1", "data2", "dst", "on_true",
                     "on_true_tile", "predicate", "src", "vals",
                     "scalar_tensor_tensor: operand1"), tile),
    **dict.fromkeys(("bias", "imm", "imm0", "imm1", "initial", "on_false", "operand0", "operand1",
                     "scale", "tensor_copy_predicated: src"), scalar),
    **dict.fromkeys(("op", "op0", "op1", "comp_op0", "comp_op1", "reduce_op"), op_name),
    **dict.fromkeys(("dst_idx", "reduce_res"), also_written),
    "reduce_cmd": _command,
}  # fmt: skip
_TAKING: dict[str, list] = {}  #: of each instruction, (role, how it is taken, who asks)
_RULES = {name: getattr(module, name) for module in (arithmetic, moving, selection, tensor)
          for name in module.__all__}  # fmt: skip
#: Taken although the signatures do not show them: where the result is, its name, and more.
_HIDDEN = {"dma_transpose": ("buffer", "name", "dge_mode"), "nc_matmul": ("name", "perf_mode"),
           "nc_stream_shuffle": (), "tensor_copy_dynamic_dst": ()}  # fmt: skip
_BY_LANE = ("vals", "dst_idx")  #: of which a mask cuts the partitions alone


def _check_chip(name, later):
    if name not in chip_here().features.value:
        raise later_chip(f"nki.isa.{name}", later)


def _ruled(name, operands, keywords, hidden):
    """Return what an instruction's rule gives."""
    more(name, hidden, keywords, _HIDDEN.get(name, ("buffer", "name")))
    return _RULES[name](**operands, **hidden)


def _issued(name, gives, operands, keywords, hidden):
    """Return the result of an instruction, as its row says what it is; or write it at once."""
    for role, take, who in _TAKING[name]:
        operands[role] = take(operands[role], who)
    kind, *roles = gives
    more(name, hidden, keywords, () if kind == "into" else ("buffer", "name"))
    pop = operands.pop
    mask, dtype, on = pop("mask", None), pop("dtype", None), pop("engine", None)
    if kind == "into":
        same_dtype(name, operands["dst"], dtype)
        perform(name, mask=mask, space=operands[roles[-1]].window.shape, **operands)
        return None
    sources = [operands[role] for role in roles if role in operands]
    shape = space = sources[0].shape
    if dtype is None:
        dtype = "uint32" if "uint32" in roles else promoted(*(s.kind for s in sources))
    if name in arithmetic.FITTING:
        name, on = arithmetic.FITTING[name](name, operands, on)
    axes = {role: (0, *(None,) * (len(operands[role].shape) - 1)) for role in _BY_LANE
            if operands.get(role) is not None}  # fmt: skip
    if kind != "like":
        shape, axes["dst"] = (space[0], int(kind)), (0, None)
    elif len(sources) > 1:
        shape = space = operands[roles[0]].shape
    return operation(name, shape, dtype, mask=mask, space=space, axes=axes or None, engine=on,
                     **operands, **hidden)  # fmt: skip


def _body(name, row):
    """Return the line that a function consists of."""
    signature, _, gives = row["old"].partition("->")
    operands = ", ".join(f"{role}={role}" for role in names_in(signature))
    keywords = tuple(names_in(signature.partition("*")[2]))
    hidden = "kwargs" if "**kwargs" in signature else "{}"
    call = f"_issued('{name}', {gives.split()}" if gives else f"_ruled('{name}'"
    chip = f"_check_chip('{name}', {row['of_chip']!r}); " if "of_chip" in row else ""
    return f"{chip}return {call}, dict({operands}), {keywords}, {hidden})"


_ROWS = {name: row for name, row in read("instructions.toml").items() if "old" in row}
__all__ = list(_ROWS)
for _name, _row in _ROWS.items():
    _whose = [(role, f"{_name}: {role}") for role in names_in(_row["old"].partition("->")[0])]
    _TAKING[_name] = [(role, _TAKEN.get(who) or _TAKEN[role], who) for role, who in _whose
                      if who in _TAKEN or role in _TAKEN]  # fmt: skip
    globals()[_name] = make(
        _name, _row["old"].partition("->")[0], _row["old_says"], _body(_name, _row), globals()
    )
