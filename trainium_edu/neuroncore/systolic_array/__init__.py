"""The Tensor Engine's array of processing elements (PEs), one cycle at a time.

``dst[M, N] = stationary[K, M].T @ moving[K, N]``: row k of the array belongs to partition k, and
the stationary's column m sits in column m.  Vectors of the moving operand enter at the left, row k
delayed by k cycles.  Sums fall, and results leave at the bottom into PSUM.

Three models of one thing, each held to the next by tests: ``functional.matmul`` (values),
``run`` (every register of every PE at every cycle), and ``cycles`` (closed forms).  Beside it
``dataflows`` (output- and input-stationary) and ``counts`` (traffic, and the same product on a
register-file and a SIMD machine).
Left out: energy, clock gating, instruction fetch, waiting for SBUF.
Sources: the NKI architecture guide; Kung 1982.  ``evidence.py`` says line by line what is
documented of Trainium and what is a textbook's guess: do not quote the guess as Trainium.

Read the plain twin of ``run`` first (``tests/neuroncore/systolic_array/elements.py``: one PE, one
cycle), then ``march.py``.  Used by the notebook ``03_systolic_array``.

Decisions
---------
*Weights march in from the left like the data, four columns per cycle, and each drops off at its
column.*  The guide says how fast (4 x) and that it happens behind the computation, not how.  This
way a tile's load hides completely once N >= ceil(M / 4), which is the guide's own picture of
"bound by LoadStationary or by MultiplyMoving"; the price is that it stays a guess.
*Sums pass unused rows*: results leave at the bottom edge whatever K is.
"""

from trainium_edu import names

_HOMES = {
    "array": "SystolicArray TRN1_ARRAY",
    "operands": "ENGINE_FORMATS as_operand",
    "plan": "Pass Schedule plan_gemm schedule",
    "cycles": "documented_issue_cycles gemm_cycles load_cycles steady_interval stream_cycles "
    "tile_cycles utilisation",
    "march": "ArrayRun run",
    "frames": "Frames frames_of_run",
    "functional": "matmul reordering_bound",
    "dataflows": "Dataflow dataflow_cycles dataflow_traffic run_dataflow",
    "choice": "choice_cycles convolution_operands",
    "tables": "choice_table dataflow_table evidence_table interval_table machine_table",
    "counts": "MachineCounts Traffic count_machines traffic",
    "evidence": "EVIDENCE",
}
# the compiled loops load with the first name that needs them
__all__, __getattr__, __dir__ = names.late(__name__, _HOMES)
