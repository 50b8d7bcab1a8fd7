"""How fast operators in C++ are compiled and run, beside NumPy and the host's own loop."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import numpy as np

from tests.benchmarks.timed import Table, best_of
from tests.texts import table_beside, text_beside
from trainium_edu.neuroncore import gpsimd_cpp
from trainium_edu.neuroncore.gpsimd_cpp import compiler

WAYS = table_beside(__file__, "ways.toml")
HEAD = "#include <torch/torch.h>\n"
SHAPE = HEAD + '#include "torchneuron/register.h"\n'
HOST = text_beside(__file__, "host.cpp.txt")


def written(folder: Path) -> tuple[list[Path], list[Path]]:
    """Write a library with one operator a way; return its sources."""
    (folder / "kernel.cpp").write_text(HEAD + "".join(
        f"torch::Tensor {way}(const torch::Tensor& x) {{\n"
        f"  torch::Tensor y = torch::empty(x.sizes(), torch::kFloat);\n  {body}\n  return y;\n}}\n"
        for way, body in WAYS.items()
    ))  # fmt: skip
    names = "".join(f'  m.def("{way}", &same, "{way}");\n' for way in WAYS)
    (folder / "shape.cpp").write_text(
        SHAPE + "torch::Tensor same(torch::Tensor x) { return x; }\n"
        f"NEURON_LIBRARY(my_ops, m) {{\n{names}}}\n"
    )
    return [folder / "kernel.cpp"], [folder / "shape.cpp"]


def cold(sources, folder: Path) -> float:
    """Return seconds of compiling with nothing in the cache, our runtime neither."""
    (folder / "cache").mkdir()
    before, compiler.cache_folder = compiler.cache_folder, lambda: folder / "cache"
    try:
        return best_of(1, lambda: gpsimd_cpp.load("bench", *sources))
    finally:
        compiler.cache_folder = before


def on_host(folder: Path) -> float:
    """Return seconds of the same loop over a million elements, compiled alone."""
    (folder / "host.cpp").write_text(HOST)
    command = [*gpsimd_cpp.find_compiler().command, "-O1", "host.cpp", "-o", "host"]
    subprocess.run(command, cwd=folder, check=True)
    said = subprocess.run([folder / "host"], capture_output=True, text=True, check=True)
    return float(said.stdout)


def main():
    """Print the table; return its rows for pages."""
    table = Table("operators in C++", "best", "limit", "margin", "beside")
    folder = Path(tempfile.mkdtemp())
    try:
        sources = written(folder)
        name = gpsimd_cpp.find_compiler().name
        table.timed("an operator in C++ compiled, nothing cached", cold(sources, folder), 5, name)
        library = gpsimd_cpp.load("bench", *sources)
        seconds = best_of(5, lambda: gpsimd_cpp.load("bench", *sources))
        table.timed("the same from the cache", seconds, 0.1, "two processes started")
        x = np.random.default_rng(0).standard_normal(1 << 20).astype(np.float32)
        alone, by_numpy = on_host(folder), best_of(5, lambda: np.maximum(x, 0))
        for way in WAYS:
            operator = getattr(library, way)
            assert np.array_equal(operator(x), np.maximum(x, 0))
            seconds = best_of(5, lambda operator=operator: operator(x))
            beside = f"{seconds / alone:.0f} x the host's loop; {seconds / by_numpy:.0f} x NumPy"
            table.timed(f"1 M elements through {way} accessors", seconds, 0.5, beside)
    finally:
        shutil.rmtree(folder)
    return table.found
