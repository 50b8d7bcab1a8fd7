"""What kernels of the older interface have in common."""

import trainium_edu.nki as nki
import trainium_edu.nki.beta1.language as nl
from tests.for_each import for_each, raises
from tests.texts import table_beside
from trainium_edu.nki.beta1.kernel import jit
from trainium_edu.specs.errors import NkiValidationError


def stored(tile, dtype=None):
    """Return a new output of a kernel that `tile` is stored to."""
    out = nl.ndarray(tile.shape, dtype or tile.dtype, buffer=nl.shared_hbm)
    nl.store(out, tile)
    return out


def refusals(part, scope, *arrays):
    """Return a test of a part of refused.toml: calls, or kernels of `x`, given `arrays`."""
    rows = table_beside(__file__, "refused.toml")[part]
    kinds = (NkiValidationError, TypeError) if arrays else (ValueError, TypeError)

    @for_each("said", rows)
    def test_it_is_refused_in_one_sentence(said):
        kernel = jit(lambda x: eval(rows[said], scope | {"x": x}))
        call = (nki.run, kernel, *arrays) if arrays else (eval, rows[said], scope)
        assert "\n" not in str(raises(kinds, said, *call))

    return test_it_is_refused_in_one_sentence
