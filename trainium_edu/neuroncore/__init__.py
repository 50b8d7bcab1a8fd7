"""Inside one NeuronCore: what an instruction does, costs, and waits for.

Modelled: SBUF and PSUM as bytes, HBM tensor by tensor; the Tensor, Vector, Scalar and GpSimd
Engines, Sync and 16 DMA queues with every instruction's values, limits and documented cycles; the
recorded program, named compiler passes on it and the place of every tile.  Everything has a time
with reasons (``why``) and a band (``band``), a comparison with another version's (``compare``), and
the time that it would take without a cause (``without``).
The Tensor Engine also exists one cycle at a time: ``systolic_array``.

Left out: instruction fetch, the semaphores' own cost, what triggering a transfer costs its engine
(Sync does it "most commonly"; how fast transfers can follow each other is in their turnaround),
collectives (``fabric``), HBM conflicts with the other core, start-up and tear-down of a kernel
(reported apart).  Strided accesses wait for each other as the rectangles around them.  Where no
figure is published the fact is marked *assumed* and has a range.

Sources: the NKI architecture and performance guides, the ISA reference of SDK 2.26 (the last with
instruction costs) and of NKI 0.6, the DMA guides, published kernel times; all in ``specs``.

Read first: ``recording/core`` (record); in ``timing`` ``placement`` (where), ``durations`` and
``scheduler`` (when), ``why``; ``advice``; ``run``.  Notebooks: ``04_neuroncore``, ``05_kernels``,
``03_systolic_array``.

Decisions
    Results stream: on one engine a dependent instruction waits for first elements only.  Published
    busy times leave about 100 cycles per instruction, which waiting for last ones would double.
    Transfers are served first come, first served, each split over 16 queues (of less than 16 rows:
    over those of its partitions); order among transfers comes from their data alone.  A queue has
    a sustained pace and may be ahead of it for a while: one rule gives the 385 to 400 GB/s of short
    kernels and the 250 to 263 of long ones; how long a while is assumed.
    Where not every tile can have its buffers, all sites have the largest number that fits.
    How values are computed is one replaceable object, the core's executor.  Kernels run with
    ``execution.deferred``, which computes matmuls later, on several CPUs: up to twice as fast, and
    tests hold its bits, record and errors equal to the plain ``recording/executor.py``'s.
"""

from trainium_edu import names

# tables and compiled loops load with the first name that needs them; the engines fill INSTRUCTIONS
__all__, __getattr__, __dir__ = names.late(__name__, {
    "timing.bands": "Band Ratio band band_of compare",
    "timing.causes": "causes_table without",
    "recording.core": "NeuronCore",
    "timing.timeline": "CoreTimeline",
    "timing.roofline": "Roofline",
    "recording.engine": "Engine Memory",
    "recording.instruction_set": "INSTRUCTIONS",
    "timing.optimise": "optimise",
    "timing.placement": "Placement place",
    "recording.program": "Program",
    "recording.program_io": "load save",
    "timing.scheduler": "schedule",
    "timing.measure": "measure",
    "timing.durations": "parameters",
    "timing.why": "Why differing_facts why",
}, "systolic_array tilings", first="engines")  # fmt: skip
