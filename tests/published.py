"""Run AWS's published NKI examples, unmodified, from a checkout that somebody has.

    python tests/published.py --corpus DIR      DIR: the ``nki`` folder of aws-neuron-sdk, or above

Their text is not part of this repository; here are only the inputs and the NumPy references.  Each
kernel is imported from its file with ``import nki`` meaning this package; files that can run as a
script do so too.  Kernels in the code blocks of guides and of the reference's docstrings run as
they stand there.  Prints a Markdown table and exits with the number of failures.
"""

import argparse
import contextlib
import importlib.util
import io
import sys
import textwrap
import traceback
from dataclasses import dataclass
from pathlib import Path

import ml_dtypes
import numpy as np

BF16 = ml_dtypes.bfloat16


@dataclass(frozen=True)
class Case:
    """One kernel of one file: what it gets and what it must give."""

    file: str
    kernel: str
    inputs: tuple
    expected: object  #: array, tuple of arrays, or the text that its error must contain
    rtol: float = 1e-6
    needs: str = ""  #: why the file cannot be imported everywhere
    block: int | None = None  #: of the code blocks that define it, this one (guides, docstrings)


def draws(*shape, seed=0, dtype=np.float32):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def exact(a, b):
    """The product in FP32 of what the arrays hold."""
    return a.astype(np.float32).T @ b.astype(np.float32)


def selective_scan(delta, u, a, b, c):
    """The state-space recurrence, one time step after the other, in float64."""
    delta, u, a, b, c = (x.astype(np.float64) for x in (delta, u, a, b, c))
    batch, channels, steps = delta.shape
    out = np.zeros(delta.shape)
    for n in range(batch):
        state = np.zeros((channels, a.shape[1]))
        for t in range(steps):
            decay = np.exp(delta[n, :, t, None] * a)
            state = decay * state + (delta[n, :, t] * u[n, :, t])[:, None] * b[n, :, t]
            out[n, :, t] = state @ c[n, :, t]
    return out


def pooled(x, size, reduce):
    c, h, w = x.shape
    return reduce(x.reshape(c, h // size, size, w // size, size), axis=(2, 4))


def mamba_inputs(channels=256, steps=512, states=4):
    delta = np.abs(draws(1, channels, steps, seed=1)) * np.float32(0.1)
    rest = (draws(1, channels, steps, seed=2), -np.abs(draws(channels, states, seed=3)))
    return delta, *rest, draws(1, states, steps, seed=4), draws(1, states, steps, seed=5)


def cases():
    """Yield every kernel with its judge."""
    a, b = draws(256, 1024, seed=1), draws(256, 1024, seed=2)
    add = "tensor_addition/tensor_addition_nki_kernels.py"
    yield Case(add, "nki_tensor_add", (a, b), a + b)

    matmul = "matrix_multiplication/matrix_multiplication_nki_kernels.py"
    sizes = {"basic_": (128, 64, 512), "tiled_": (256, 128, 1024), "hoist_load_": (256, 256, 1024),
             "block_free_dimension_": (256, 512, 1024),
             "fully_optimized_": (1024, 2048, 1024)}  # fmt: skip
    for name, (k, m, n) in sizes.items():  # [K, M], [K, N]
        for dtype in (BF16, np.float32):
            w, x = draws(k, m, seed=3, dtype=dtype), draws(k, n, seed=4, dtype=dtype)
            wide = exact(w, x)
            yield Case(
                matmul, f"nki_matmul_{name}", (w, x), wide, rtol=1e-2 if dtype is BF16 else 1e-4
            )

    x = np.arange(5 * 12, dtype=np.int8).reshape(5, 12)
    turned = x.reshape(5, 3, 4).transpose(0, 2, 1).reshape(5, 12)
    transpose = "transpose2d/transpose2d_nki_kernels.py"
    yield Case(transpose, "tensor_transpose2D_kernel_", (x, (3, 4)), turned)

    x = draws(16, 8, 12, seed=5)
    pool = "average_pool2d/average_pool2d_nki_kernels.py"
    yield Case(pool, "tensor_avgpool_kernel", (x, 2), pooled(x, 2, np.mean), rtol=1e-5)
    yield Case("index-case-3.py", "tensor_maxpool_kernel_", (x, 4), pooled(x, 4, np.max))

    x = np.arange(20, dtype=np.float32).reshape(4, 5).astype(BF16)
    yield Case("index-case-1.py", "tensor_split_kernel_", (x,), (x[:, ::2], x[:, 1::2]))
    x = draws(128, 512, seed=6, dtype=BF16)
    wide = np.exp(x.astype(np.float32))
    yield Case("layout-pass.py", "tensor_exp_kernel_", (x,), wide, rtol=2e-2)
    yield Case("layout-violation.py", "tensor_exp_kernel_", (draws(256, 512),),
               "partition dimension 256 exceeds maximum 128")  # fmt: skip

    a, b = draws(4, 3, seed=7, dtype=np.float16), draws(4, 3, seed=8, dtype=np.float16)
    yield Case("getting_started_baremetal.py", "nki_tensor_add_kernel", (a, b), a + b, rtol=1e-3)
    yield Case("simulate/nki_simulate_example.py", "add_kernel", (a, b), a + b, rtol=1e-3)

    inputs = mamba_inputs()
    for version in ("mamba_v1", "mamba_v2", "mamba_v3"):
        yield Case(
            "fused_mamba/mamba_nki_kernels.py", version, inputs, selective_scan(*inputs), rtol=1e-4
        )


def guide_cases():
    """Yield the kernels in code blocks of guides and docstrings, from the ``nki`` folder."""
    guide = "guides/tutorials/kernel-optimization.rst"
    sizes = ((128, 128, 512), (256, 256, 1024), (256, 256, 1024), (256, 512, 1024),
             (1024, 2048, 1024))  # fmt: skip
    for block, (k, m, n) in enumerate(sizes):
        for dtype in (BF16, np.float32):
            w, x = draws(k, m, seed=9, dtype=dtype), draws(k, n, seed=10, dtype=dtype)
            rtol = 2e-2 if dtype is BF16 else 1e-4
            yield Case(guide, "matrix_multiply_kernel", (w, x), exact(w, x), rtol, block=block)

    x, pair = np.abs(draws(64, 32)) + 1, (draws(4, 3, seed=1), draws(4, 3, seed=2))
    guide, three = "guides/how-to-scheduling-apis.rst", (x, x + 1, x + 2)
    yield Case(guide, "scheduled", (x,), 1 / x + x + 1, block=0)
    exps = tuple(np.exp(t) for t in three)
    yield Case(guide, "scheduled", three, exps, block=1)
    for block in (0, 1):
        yield Case(guide, "loop", three, exps, block=block)
    for guide in ("quickstart-implement-run-kernel.rst", "nki-language-guide.rst"):
        last = 1 if guide.startswith("quick") else 0
        yield Case(f"get-started/{guide}", "nki_tensor_add_kernel", pair, sum(pair), block=last)
    guide = "get-started/about/nki-dma-overview.rst"
    for block, shape in enumerate(((4, 4096), (128, 128))):
        x = draws(*shape, dtype=BF16)
        wide = np.exp(x.astype(np.float32))
        yield Case(guide, "tensor_exp_kernel_isa", (x,), wide, rtol=1e-2, block=block)

    batches, square, rows = draws(4, 128, 512), draws(512, 512), draws(128, 512)
    guide = "deep-dives/nki-aps.rst"
    yield Case(guide, "scalar_dynamic_select", (batches,), batches[3], block=0)
    yield Case(guide, "scalar_dynamic_dma", (square,), square[384:, :256], block=0)
    yield Case(guide, "gather_rows", (rows,), rows[::2], block=0)
    yield Case(guide, "indirect_vector_dynamic_dma", (rows,), rows[::2], block=0)
    guide, pieces = "migration/index.rst", draws(8, 128, 512)
    yield Case(guide, "indirect_scalar_dynamic_dma", (square,), square[384:, :256], block=0)
    yield Case(guide, "indirect_vector_dynamic_dma", (rows,), rows[::2], block=0)
    for block in (0, 1):
        yield Case(guide, "sb_blocks_migrated", (pieces,), pieces, block=block)
    yield Case(guide, "sb_blocks_migrated_incorrect", (pieces,), pieces, block=0)
    yield Case(guide, "sb_blocks", (pieces,), "par_dim was part of an earlier NKI", block=0)

    guide = "api/nki/isa/__init__.py"
    w, x = draws(512, 64, seed=11), draws(512, 256, seed=12)
    yield Case(guide, "nc_matmul_accumulate_kernel", (w, x), exact(w, x), 1e-4, block=0)
    index = np.random.default_rng(0).permutation(128)[:64].astype(np.uint32).reshape(64, 1)
    yield Case(guide, "indirect_gather_kernel", (rows, index), rows[index[:, 0]], block=0)
    square = draws(128, 128, dtype=BF16)
    index = np.arange(128, dtype=np.uint32).reshape(128, 1)
    yield Case(guide, "gather_transpose_kernel", (square, index), "NeuronCore-v3", block=0)


SCRIPTS = ("average_pool2d/average_pool2d_nki_kernels.py", "transpose2d/transpose2d_nki_kernels.py",
           "fused_mamba/mamba_nki_kernels.py", "getting_started_baremetal.py",
           "simulate/nki_simulate_example.py", "tensor_addition/tensor_addition_nki_kernels.py",
           "matrix_multiplication/matrix_multiplication_nki_kernels.py")  # fmt: skip
BROKEN_AS_PUBLISHED = ("layout-loop.py", "layout-dynamic-loop.py")  # names that are not defined


def examples_of(corpus: Path) -> Path:
    """Return the folder of the examples inside a checkout."""
    for folder in (corpus / "examples", corpus / "nki" / "examples", corpus):
        if (folder / "matrix_multiplication").is_dir():
            return folder
    raise SystemExit(f"{corpus}: no nki/examples in there")


def load(path: Path, name=""):
    """Import a file under a name of its own."""
    name = name or f"published_{path.stem.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def code_blocks(text: str):
    """Yield the Python code blocks of a guide or of docstrings, without their indentation."""
    lines = text.splitlines()
    for start, line in enumerate(lines):
        if line.strip().startswith(".. code-block:: python"):
            depth, block = len(line) - len(line.lstrip()), []
            for inner in lines[start + 1 :]:
                if inner.strip() and len(inner) - len(inner.lstrip()) <= depth:
                    break
                block.append(inner)
            body = [inner for inner in block if not inner.strip().startswith(":")]
            yield textwrap.dedent("\n".join(body)).replace('"""\n    ...', "").strip()


def kernel_of(case: Case, folder: Path):
    """Return the kernel of a file, or of a code block, which finds ``nki`` imported."""
    if case.block is None:
        return getattr(load(folder / case.file), case.kernel)
    import trainium_edu.nki as nki

    path = folder / case.file
    starts = (f"def {case.kernel}(", f"{case.kernel} = ")
    found = [b for b in code_blocks(path.read_text()) if any(part in b for part in starts)]
    code = found[case.block]
    code = code if code.count('"""') % 2 == 0 else code.rpartition('"""')[0]
    names = {"__name__": "block", "nki": nki, "nl": nki.language, "nisa": nki.isa, "np": np}
    exec(compile(code, f"{path.name} {case.kernel}", "exec"), names)
    return nki.jit(names[case.kernel])


def judge(case: Case, folder: Path) -> str:
    """Run one kernel; return "" or what is wrong."""
    kernel = kernel_of(case, folder)
    try:
        got = kernel(*case.inputs)
    except Exception as error:
        if isinstance(case.expected, str) and case.expected in str(error):
            return ""
        raise
    if isinstance(case.expected, str):
        return f"no error, where {case.expected!r} was expected"
    wanted = case.expected if isinstance(case.expected, tuple) else (case.expected,)
    got = got if isinstance(got, tuple | list) else (got,)
    if len(got) != len(wanted):
        return f"{len(got)} results for {len(wanted)}"
    for one, two in zip(got, wanted, strict=True):
        one, two = np.asarray(one), np.asarray(two)
        if one.shape != two.shape:
            return f"shape {one.shape} for {two.shape}"
        one, two = one.astype(np.float64), two.astype(np.float64)
        limit = case.rtol * max(1e-30, np.abs(two).max())
        if not np.abs(one - two).max() <= limit:
            return f"off by {np.abs(one - two).max():.3g}, over {limit:.3g}"
    return ""


def run_as_script(path: Path) -> str:
    """Run a file as ``python -m trainium_edu run FILE``; return "" or what is wrong."""
    from trainium_edu.cli.run import run_script

    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        code = run_script(path)
    return "" if code == 0 else said.getvalue().strip().splitlines()[-1]


def report(corpus: Path, *, only="", traces=False):
    """Yield (file, what was run, "" or what is wrong) for every published example."""
    import trainium_edu.nki as nki
    from trainium_edu.nki.kernel import chip_for_all

    folder = examples_of(corpus)
    nki.activate(replace=True)
    try:
        for case in cases():
            if only in f"{case.file} {case.kernel}":
                yield case.file, _label(case), _tried(judge, case, folder, traces=traces)
        for file in SCRIPTS:
            if only in f"{file} script":
                yield file, "script", _tried(run_as_script, folder / file, traces=traces)
        before = chip_for_all("trn1")  # some guides ask for trn2 while they are imported
        try:
            for case in guide_cases():
                text = folder.parent / case.file
                if only in f"{case.file} {case.kernel}" and text.exists():
                    yield case.file, _label(case), _tried(judge, case, folder.parent, traces=traces)
        finally:
            chip_for_all(before)
    finally:
        nki.deactivate()


def _label(case):
    sizes = [x.shape if isinstance(x, np.ndarray) else x for x in case.inputs]
    return f"{case.kernel} {sizes[0]} {getattr(case.inputs[0], 'dtype', '')}"


def _tried(function, *args, traces):
    try:
        return function(*args)
    except Exception as error:
        if traces:
            traceback.print_exc()
        return f"{type(error).__name__}: {error}".splitlines()[0]


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpus", type=Path, required=True, help="checkout of aws-neuron-sdk")
    parser.add_argument("--only", default="", help="part of a file's or kernel's name")
    parser.add_argument("--traces", action="store_true", help="print tracebacks")
    options = parser.parse_args()
    failed = 0
    print("| file | run | result |\n|---|---|---|")
    for file, what, wrong in report(options.corpus, only=options.only, traces=options.traces):
        failed += bool(wrong)
        print(f"| {file} | {what} | {wrong or 'right'} |", flush=True)
    for file in BROKEN_AS_PUBLISHED:
        print(f"| {file} | | left out: broken as published |")
    return failed


if __name__ == "__main__":
    sys.exit(main())
