"""All lessons and the numeric fast tests, on every processor that this machine can pass for.

Usage: python .ci/processors.py, as ``make soak`` does

OpenBLAS has kernels of its own for each type of core and adds in another order with each; NumPy has
loops with and without this machine's vector instructions; and the number of threads cuts sums
differently.  What a lesson prints and a test asserts must not depend on any of them.
"""

import itertools
import os
import subprocess
import sys

#: OpenBLAS's names of core types, oldest first, with what Linux calls the instructions they need.
CORE_TYPES = {
    "Prescott": "pni",
    "Nehalem": "sse4_2",
    "Sandybridge": "avx",
    "Haswell": "avx2 fma",
    "Zen": "avx2 fma",
    "SkylakeX": "avx512f avx512cd avx512bw avx512dq avx512vl",
    "Cooperlake": "avx512_bf16",
    "Sapphirerapids": "amx_bf16",
}
NUMERIC = (
    "numerics",
    "training",
    "neuroncore/engines",
    "neuroncore/tilings",
    "nki/kernels",
    "test_docstrings.py",
)
_ARCHITECTURE = (
    "import numpy, threadpoolctl; print({i['architecture'] for i in"
    " threadpoolctl.threadpool_info() if i['internal_api'] == 'openblas' and 'numpy' in"
    " i['filepath']})"
)


def _kernels():
    """Return the sets of kernels that this machine can run, each with its core type."""
    with open("/proc/cpuinfo") as file:
        has = set(next(line for line in file if line.startswith("flags")).split())
    kernels = {}
    for name, needs in CORE_TYPES.items():
        if has.issuperset(needs.split()):
            kernels.setdefault(_kernels_of({"OPENBLAS_CORETYPE": name}), name)
    return kernels


def _kernels_of(setting):
    """Return what OpenBLAS calls the kernels that it takes in an environment."""
    done = subprocess.run(
        [sys.executable, "-c", _ARCHITECTURE],
        env=os.environ | setting,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


def core_types():
    """Return the core types that this machine can run, one for each set of kernels."""
    return list(_kernels().values())


def numpy_features():
    """Return the names of all vector instructions that NumPy has loops for and this machine has."""
    from numpy._core._multiarray_umath import __cpu_dispatch__, __cpu_features__

    return " ".join(name for name in __cpu_dispatch__ if __cpu_features__[name])


def settings():
    """Return the environments to run in, as dicts."""
    combinations = itertools.product(core_types(), ("1", "2"), ("", numpy_features()))
    names = ("OPENBLAS_CORETYPE", "OPENBLAS_NUM_THREADS", "NPY_DISABLE_CPU_FEATURES")
    return [dict(zip(names, c, strict=True)) for c in combinations]


def main():
    """Run them all, whatever fails."""
    failed = []
    for setting in settings():
        said = " ".join(f"{name}={value!r}" for name, value in setting.items() if value)
        print(f"-- {said}", flush=True)
        tests = " ".join(f"tests/{name}" for name in NUMERIC)
        done = subprocess.run(
            [
                "make",
                "--no-print-directory",
                "--keep-going",
                "test-fast",
                "test-notebooks",
                f"FAST={tests}",
            ],
            env=os.environ | setting,
        )
        if done.returncode:
            failed.append(said)
    for said in failed:
        print(f"FAILED with {said}")
    return bool(failed)


if __name__ == "__main__":
    sys.exit(main())
