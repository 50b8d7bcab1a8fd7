"""What single instructions refuse.  Judge: the limits that the reference states for each.

Refusals that a kernel reaches stand in tests/nki/limits.toml, which come here through ``nki``;
those of this table are the others.
"""

import numpy as np

from tests.for_each import for_each, raises
from tests.neuroncore.engines.bench import Bench
from tests.texts import table_beside
from trainium_edu.neuroncore.recording.indirect import OutOfBoundsError
from trainium_edu.specs import NkiValidationError

REFUSED = table_beside(__file__, "refusals.toml")
ERRORS = {"refused": NkiValidationError, "wrong": TypeError, "outside": OutOfBoundsError}
NUMBERS = tuple(range(32))


def operands(text):
    return eval(f"dict({text})", globals())


@for_each("name", REFUSED)
def test_a_wrong_operand_is_refused(name):
    row = REFUSED[name]
    Bench().issue(name, **operands(row["usual"]))
    for kind, error in ERRORS.items():
        for change, words in row.get(kind, ()):
            bench = Bench()
            raises(error, words, bench.issue, name, **operands(row["usual"]) | operands(change))
            assert not bench.core.program.instructions


def test_a_missing_operand_and_a_host_array_are_named(timed):
    one, two = timed.sbuf((4, 4)), timed.psum((4, 8))
    raises(TypeError, "needs the operand 'op'", timed.tensor_tensor, dst=one, data1=one, data2=one)
    raises(TypeError, "src is a host array", timed.dma_copy, dst=one, src=np.zeros(4))
    raises(TypeError, "moving", timed.nc_matmul, dst=two, stationary=one)
