"""How kernels of the older interface are made and called.  Judge: the call forms of AWS's reference
(SDK 2.26, its examples' tests) and NumPy; for time, ``nki.run`` of the same kernel and specs."""

import inspect
import re
import warnings

import numpy as np
import pytest

import trainium_edu.nki as current
import trainium_edu.nki.beta1 as nki
import trainium_edu.nki.beta1.isa as nisa
import trainium_edu.nki.beta1.language as nl
from tests.for_each import for_each, raises
from tests.nki.beta1.cases import refusals, stored
from tests.texts import golden
from trainium_edu.nki.beta1.typing import mutable_tensor, tensor
from trainium_edu.specs import TRN1
from trainium_edu.specs.errors import NkiValidationError
from trainium_edu.tools.neuron_profile import summary

F = np.float32
X = np.arange(32 * 8, dtype=F).reshape(32, 8)
NAMES = golden("nki_beta1_names.json")


def doubled(x):
    return stored(nl.load(x) * 2.0, x.dtype)


FORMS = {
    "@jit": nki.jit(doubled), "@jit()": nki.jit()(doubled),
    "a mode": nki.jit(mode="simulation")(doubled),
    "a platform": nki.jit(doubled, mode="simulation", platform_target="trn1"),
    "compiler options": nki.jit(debug_kernel=True, additional_compile_opt="-O1")(doubled),
    "of a kernel": nki.jit(nki.jit(doubled), mode="simulation"),
    "baremetal": nki.baremetal(doubled),
    "baremetal()": nki.baremetal(additional_compile_opt="")(nki.jit(doubled)),
    "simulate_kernel": lambda x: nki.simulate_kernel(nki.jit(doubled), x),
    "simulate a function": lambda x: nki.simulate_kernel(doubled, x),
    "a grid": nki.jit(doubled)[1], "inf2": nki.jit(doubled, platform_target="inf2"),
    "the current interface's simulate": current.simulate(nki.jit(doubled)),
}  # fmt: skip


@for_each("form", FORMS)
def test_every_call_form_computes(form):
    np.testing.assert_array_equal(FORMS[form](X), 2 * X)


def test_a_grid_of_zero_is_one_instance_and_says_so():
    """Judge: AWS's samples start their pipelined attention as ``flash_fwd[0]`` and compare."""
    with pytest.warns(UserWarning, match="no page says what 0 does"):
        kernel = nki.jit(doubled)[0]
    np.testing.assert_array_equal(kernel(X), 2 * X)
    with pytest.warns(UserWarning, match=r"doubled\[\(2, 0\)\]"):
        assert nki.jit(doubled)[2, 0].instances == (2, 1)


def test_kernels_are_compared_and_have_names():
    one = nki.jit(doubled)
    assert one == nki.jit(doubled, mode="simulation")
    assert (one, one) == (nki.benchmark(one), doubled)
    assert one != nki.jit(lambda x: x)
    assert one[2] != one
    assert len({one, nki.trace(doubled)}) == 1
    assert one.__name__ == nki.benchmark(one).__name__ == "doubled"
    assert repr(one[4, 2]) == "<kernel doubled[4, 2]>"


def test_outputs_as_arguments():
    @nki.trace
    def into(x, out):
        nl.store(out, nl.load(x) + 1.0)

    out = np.zeros_like(X)
    assert nki.simulate_kernel(into, X, out) is None
    np.testing.assert_array_equal(out, X + 1)
    nki.baremetal(into)(X, out=out.T.copy().T)  # what is no plain array is copied back
    again = np.zeros_like(X)
    nki.trace()(nki.jit(into.source))(X, again)  # a kernel that was made otherwise before
    np.testing.assert_array_equal(again, X + 1)


def test_a_kernel_calls_kernels():
    @nki.jit
    def outer(x):
        assert nki.jit(doubled)(x).shape == x.shape
        return nki.jit(doubled)(nki.trace(doubled)(x))

    np.testing.assert_array_equal(outer(X), 4 * X)
    with pytest.raises(NkiValidationError, match="no new programs start"):
        nki.simulate_kernel(lambda x: nki.jit(doubled)[2](x), X)


def test_an_argument_is_written_only_where_it_says_so():
    def inside(x):
        nl.store(x, nl.load(x) * 2.0)
        return x

    def allowed(x: mutable_tensor):
        nl.store(x, nl.load(x) * 2.0)
        return x

    raises(NkiValidationError, r"writes to x.*nt\.mutable_tensor", nki.jit(inside), X.copy())
    np.testing.assert_array_equal(nki.jit(allowed)(X.copy()), 2 * X)
    assert tensor[128, 512] is tensor


def test_benchmark_predicts_what_run_times(capsys):
    timed = nki.benchmark(warmup=5, iters=20)(doubled)
    returned = timed(X)
    assert returned.shape == X.shape
    assert np.isnan(returned).all()
    latency = timed.benchmark_result.nc_latency
    low, high = TRN1.measured.start_and_stop_ns.value
    expected = current.run(nki.jit(doubled), X).timeline.makespan_ns + (low + high) / 2
    for percentile in (0, 1, 10, 25, 50, 90, 99, 100):
        assert latency.get_latency_percentile(percentile) == pytest.approx(expected / 1e3)
    assert latency.band_us[0] < expected / 1e3 < latency.band_us[1]
    timed[1](X)  # a test of AWS's calls the kernel so, and asks the kernel without the grid
    assert timed.benchmark_result.nc_latency is not latency
    timed(X)
    said = capsys.readouterr().out
    assert said.count("doubled: latency") == 3
    assert said.count("predicts here") <= 1
    raises(ValueError, "percentile 42", latency.get_latency_percentile, 42)


def test_files_of_a_benchmark_and_a_profile(tmp_path):
    neff, ntff = tmp_path / "file.neff", tmp_path / "a.ntff"
    nki.benchmark(save_neff_name=str(neff), save_trace_name=str(ntff))(doubled)(X)
    assert neff.stat().st_size
    assert ntff.stat().st_size
    profiled = nki.profile(working_directory=str(tmp_path / "p"))(doubled)
    profiled(X)
    assert {p.name for p in (tmp_path / "p").iterdir()} == {"file.neff", "profile.ntff"}
    raises(FileExistsError, "overwrite", profiled, X)
    nki.profile(working_directory=str(tmp_path / "p"), overwrite=True)(doubled)(X)
    raises(ValueError, "absolute path", lambda: nki.profile(working_directory="here")(doubled)(X))
    where = tmp_path / "nth"  # names as AWS's unit test of nki.profile asks for them
    nki.profile(working_directory=str(where), profile_nth=10, num_execs=20)(doubled)(X)
    assert {p.name for p in where.iterdir()} == {
        "file.neff", "profile_exec_10.ntff", "profile_exec_20.ntff",
    }  # fmt: skip
    with pytest.raises(ValueError, match="profile_nth is 0; it must be an integer from 1"):
        nki.profile(working_directory=str(where), profile_nth=0)(doubled)(X)
    saved = nki.baremetal(doubled, save_neff_name=str(tmp_path / "b.neff"))
    np.testing.assert_array_equal(saved(X), 2 * X)
    assert (tmp_path / "b.neff").exists()


def test_a_result_wider_than_sbuf_is_timed_beside_it():
    """Judge: NumPy; a published solution of a course keeps 222 x 222 FP32 results in one tile."""

    @nki.jit
    def kernel(x):
        result = nl.ndarray((128, 222, 222), x.dtype, buffer=nl.sbuf)
        for row in nl.affine_range(222):
            result[:, row, :] = nl.load(x[:, row, :]) * 2.0
        return stored(result, x.dtype)

    x = np.random.default_rng(0).standard_normal((128, 222, 222)).astype(np.float32)
    np.testing.assert_array_equal(kernel(x), 2 * x)
    run = current.run(kernel, x, values=False)
    by_bytes = 2 * x.nbytes / float(TRN1.dma.rate_in_bursts.value[1]) * 1e9
    assert run.timeline.makespan_ns > by_bytes
    (note,) = run.placement.notes
    assert note.startswith("SBUF is too small: ")
    assert "there are 196608" in note


def test_scores_that_psum_cannot_hold_are_timed_beside_it():
    """Judge: NumPy for the values; the bytes of 128 banks.

    AWS's attention tutorial (its third version, SDK 2.26) has all scores in PSUM before it looks
    for their maxima, and is timed so.
    """

    @nki.jit
    def kernel(x):
        out = nl.ndarray((128, 16, 512), nl.float32, buffer=nl.shared_hbm)
        lhs = nl.load(x[:, 0:128])
        scores = nl.ndarray((128, nl.par_dim(128), 512), nl.float32, buffer=nl.psum)
        for k in nl.affine_range(128):
            scores[k] = nisa.nc_matmul(lhs, nl.load(x[:, nl.ds(8 * k, 512)]))
        for g in nl.affine_range(16):
            largest = nl.ndarray((128, 8), nl.float32, buffer=nl.sbuf)
            for k in nl.affine_range(8):
                largest[:, k] = nisa.tensor_reduce(nl.max, scores[8 * g + k], axis=1)
            most = nl.max(largest, axis=1)
            nl.store(out[:, g], nisa.tensor_scalar(scores[8 * g], nl.subtract, most))
        return out

    x = np.random.default_rng(0).integers(-4, 5, (128, 1536)).astype(np.float32)
    run = current.run(kernel, x)
    scores = np.stack([x[:, :128].T @ x[:, 8 * k : 8 * k + 512] for k in range(128)])
    most = scores.reshape(16, 8, 128, 512).max((1, 3))
    np.testing.assert_array_equal(run.outputs, (scores[::8] - most[:, :, None]).swapaxes(0, 1))
    assert summary(run)["hbm_write_bytes"] == run.outputs.nbytes
    most = re.match(r"PSUM is too small: (\d+) bytes of each", run.placement.notes[-1])
    assert 64 * 2048 < int(most[1]) <= 128 * 2048  # as many as the issued order keeps alive


def test_compiler_directives_make_kernels():
    plain = nki.compiler.skip_middle_end_transformations(nki.jit(doubled))
    assert plain.passes == ()
    assert nki.jit(doubled).passes is True
    assert nki.jit(plain).passes == ()
    assert nki.compiler.enable_stack_allocator(plain).passes == ()
    np.testing.assert_array_equal(plain(X), 2 * X)
    run = current.run(plain, X)
    assert run.passes == ()
    assert run.timeline.program is run.program
    assert list(nl.sequential_range(2, directives=nki.compiler.no_reorder())) == [0, 1]
    assert list(nl.affine_range(1, 3, precise_schedule=True)) == [1, 2]
    assert nki.compiler.multi_buffer(3).factor == 3


def test_low_precision_is_kept_as_float32_in_simulation(monkeypatch):
    """Judge: AWS's test of activation compares a BF16 result from the simulator at 1e-5."""

    def narrow(x):
        return stored(nl.add(nl.load(x), 1.0, dtype=nl.bfloat16), F)

    x = X + F(1 / 3)
    rounded = (x + 1).astype(nl.bfloat16).astype(F)
    assert np.allclose(nki.simulate_kernel(narrow, x), x + 1)
    np.testing.assert_array_equal(nki.baremetal(narrow)(x), rounded)
    monkeypatch.setenv("NKI_PRECISE_FP", "1")
    np.testing.assert_array_equal(nki.simulate_kernel(narrow, x), rounded)


def _warned(function, *arrays):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        nki.jit(function)(*arrays)
    return [str(w.message) for w in found if "traced once" in str(w.message)]


def test_loops_that_were_traced_once_are_warned_of():
    def counts(x):
        turns, last = 0, None
        for _ in nl.affine_range(2):
            turns += 1
            last = nl.load(x)
        return stored(last * float(turns), F)

    def ends(x):
        out = nl.ndarray((2, 32, 8), F, buffer=nl.shared_hbm)
        for i in nl.affine_range(2):
            nl.store(out[i], nl.load(x))
            return out

    def sound(x):
        total = nl.zeros((32, 8), F)
        for _ in nl.affine_range(2):
            tile = nl.load(x)
            tile += 1.0
            for _ in nl.affine_range(1):
                total += tile
        for _ in range(2):
            tile = nl.load(x)
        return stored(total, F)

    said = _warned(counts, X)
    assert len(said) == 2
    assert "so last" in said[0] + said[1]
    assert "so turns" in said[0] + said[1]
    assert _warned(counts, X) == []  # once
    [said] = _warned(ends, X)
    assert "put the return after the loop" in said
    assert _warned(sound, X) == []


def test_a_torch_tensor_comes_back_as_one():
    torch = pytest.importorskip("torch")
    assert torch.equal(nki.jit(doubled)(torch.from_numpy(X)), torch.from_numpy(2 * X))


test_it_is_refused_in_one_sentence = refusals("kernel", globals())


def test_a_later_platform_runs_as_trn1_and_says_so():
    with pytest.warns(UserWarning, match="NeuronCore-v2"):
        kernel = nki.jit(doubled, mode="simulation", platform_target="trn3")
    np.testing.assert_array_equal(kernel(X), 2 * X)


def test_platform_target_chooses_the_chip():
    seen = []

    def asking(x):
        seen.append(int(nki.isa.get_nc_version()))
        return doubled(x)

    for target in ("trn1", "inf2", "trn2"):
        nki.jit(asking, mode="simulation", platform_target=target)(X)
    assert seen == [2, 2, 3]


MODULES = {
    "nki": nki, "nki.language": nl, "nki.compiler": nki.compiler,
    "nki.compiler.sbuf": nki.compiler.sbuf, "nki.compiler.psum": nki.compiler.psum,
}  # fmt: skip
ANY = {"affine_range", "arange", "sequential_range", "simulate_kernel", "static_range",
       "allocation_scope"}  # fmt: skip
TYPES = {"bool": "<class 'bool'>", "np.float32": repr(F), "np.uint8": repr(np.uint8)}


@for_each("module", MODULES)
def test_names_and_parameters_are_the_references(module):
    """Judge: ``tests/golden/nki_beta1_names.json``, read from AWS's own stubs of SDK 2.26."""
    for name in NAMES[module]["others"]:
        assert hasattr(MODULES[module], name), name
    for name, documented in NAMES[module]["functions"].items():
        found = []
        for p in inspect.signature(getattr(MODULES[module], name)).parameters.values():
            if p.kind is p.KEYWORD_ONLY and ["*"] not in found:
                found.append(["*"])
            if p.kind is not p.VAR_KEYWORD:
                found.append([p.name] if p.default is p.empty else [p.name, repr(p.default)])
        wanted = [[TYPES.get(part, part) for part in p] for p in documented]
        assert name in ANY or found == wanted, name
    assert all(hasattr(nki.tensor, name) for name in NAMES["tensor"])
