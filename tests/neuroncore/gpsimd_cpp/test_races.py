"""Eight processors: their parts, and their races; judges: NumPy, and mistakes made on purpose."""

import numpy as np
import pytest

from tests.for_each import for_each, raises
from tests.neuroncore.gpsimd_cpp.sources import program
from tests.texts import table_beside
from trainium_edu.neuroncore.gpsimd_cpp import OperatorError
from trainium_edu.neuroncore.gpsimd_cpp.races import Race, find_race

PROGRAM = program("doubled_in_parts.cpp")


def seeded(before="", after="", loop="out"):
    """Return the program with something wrong before its loop, after it, or in its last line."""
    text = PROGRAM.replace("//before", before).replace("//after", after)
    return text.replace(
        "out.tcm_to_tensor<float>(buffer, i", f"{loop}.tcm_to_tensor<float>(buffer, i"
    )


CLEAN = seeded()
#: Mistakes, by what the message has to say.
MISTAKES = {said: seeded(*change) for said, change in table_beside(__file__, "races.toml").items()}


@pytest.fixture
def made(build):
    def made(kernel):
        return build(kernel, multicore=True, part="torch::Tensor x, double kind")

    return made


@pytest.mark.parametrize("n", [8, 100, 2048, 10_000])
def test_clean_programs_are_not_accused(made, n):
    x = np.random.default_rng(n).standard_normal(n).astype(np.float32)
    np.testing.assert_array_equal(made(CLEAN)(x, 0), 2 * x)


@pytest.mark.parametrize("text", MISTAKES)
def test_seeded_races_are_found_and_named(made, text):
    x = np.ones(2048, np.float32)
    told = raises(OperatorError, "", lambda: made(MISTAKES[text])(x, 0))
    assert f"race: {text}" in str(told), str(told)
    assert told.line


def test_a_race_for_one_element_of_a_million(made):
    x = np.ones(2**20, np.float32)
    kernel = seeded("  if (id == 3) end += 1;")
    raises(OperatorError, r"3 and 4 both write element \[524288\]", lambda: made(kernel)(x, 0))


def test_reading_the_same_input_is_no_race(made):
    kernel = seeded("", "  in.tensor_to_tcm<float>(buffer, 0, 16);")
    x = np.arange(4096, dtype=np.float32)
    np.testing.assert_array_equal(made(kernel)(x, 0), 2 * x)


def test_what_nobody_wrote_is_said_and_reads_nan(made):
    run = made(seeded("  if (id == 7) end -= 3;")).run(np.ones(800, np.float32), 0)
    assert np.isnan(run.outputs[-3:]).all()
    assert not np.isnan(run.outputs[:-3]).any()
    assert "never written" in str(run.advice[0])


def test_uneven_shares_are_advised_against(made):
    kernel = seeded("  begin = id ? n : 0, end = id ? n : n;")
    kinds = [advice.kind for advice in made(kernel).run(np.ones(8192, np.float32), 0).advice]
    assert "uneven shares" in kinds


@for_each("seed", range(20))
def test_races_are_what_a_plain_loop_over_elements_finds(seed):
    rng = np.random.default_rng(seed)
    readers, writers = (rng.choice([0, 0, 0, 1, 2, 4, 6], 30).astype(np.uint8) for _ in range(2))

    def races(e):
        r, w = ({p for p in range(8) if mask[e] >> p & 1} for mask in (readers, writers))
        return any(p != q for p in w for q in w | r)

    bad = [e for e in range(30) if races(e)]
    found = find_race([(0, readers, writers)])
    assert (found.element if found else None) == (bad[0] if bad else None)
    assert not found or (isinstance(found, Race) and found.elements == len(bad))
